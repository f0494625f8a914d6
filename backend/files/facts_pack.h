#pragma once
// The facts cache on disk: one pack file holds the facts of all files in a directory, so that a
// hundred thousand small files load in a second. dataset::MetadataCache reads and writes it.
//
// A pack is written aside and renamed. A pack that is torn, or of another version or other options,
// is ignored. All packs together stay below kCacheBytesMax: the oldest are removed first.
// Threads: any; if two processes write the same pack, the last one wins.
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "backend/files/file_metadata.h"

namespace millrace::files {

inline constexpr std::int64_t kCacheBytesMax = std::int64_t{2} << 30;

/// By the cache's key: its first line is the file's path, its last line identifies the options.
using FactsByKey = std::map<std::string, std::shared_ptr<const FileMetadata>>;

/// Path of the pack for the key's directory and options.
std::string packPath(const std::string& cacheDirectory, const std::string& key);

FactsByKey readPack(const std::string& path);

/// If two entries are for one file, the later one in `added` wins. Failing to write a pack is not
/// an error.
void addToPack(const std::string& cacheDirectory, const std::string& path, FactsByKey pack,
               const FactsByKey& added);

}  // namespace millrace::files

#pragma once
// The facts cache on disk: the facts of the files of one directory are one file, so that a hundred
// thousand small files are read back in a second. Read and written by dataset::FactsCache.
//
// A pack is written aside and renamed; one that is torn, of another version or of other options is
// as good as none. All packs together stay below kCacheBytesMax: the oldest go first.
// Threads: any; two processes that write the same pack leave that of the last one.
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "backend/files/file_facts.h"

namespace millrace::files {

inline constexpr std::int64_t kCacheBytesMax = std::int64_t{2} << 30;

/// By the cache's key, whose first line is the file's path and whose last names the options.
using FactsByKey = std::map<std::string, std::shared_ptr<const FileFacts>>;

/// Where the pack of the key's directory and options lies.
std::string packPath(const std::string& cacheDirectory, const std::string& key);

FactsByKey readPack(const std::string& path);

/// Of two entries for one file the later one in `added` wins. A pack that cannot be written is no
/// error.
void addToPack(const std::string& cacheDirectory, const std::string& path, FactsByKey pack,
               const FactsByKey& added);

}  // namespace millrace::files

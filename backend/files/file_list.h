#pragma once
// The files that dataset.path names: one file, a directory, a glob, or a list of these.
//
// Globs know *, ?, [..], ** (any depth) and {a,b}. Order: the entries as given; below one entry in
// byte order of the path under its fixed part (the directories before the first wildcard). Names
// that start with '.' or '_' are skipped below a directory or a wildcard.
// Links are followed; one that leads around in a circle, or to files that are read under another
// name too, is an error. Failure: one sentence that names the path as written; kNotFound for what
// is not there, kInvalidArgument for such links and for more than 10,000 alternatives of a pattern.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::files {

/// One data file as it was found. `relativePath` is what draws are keyed by: the path below the
/// entry's fixed part, or the path as written where two entries would share one.
struct DataFile {
    std::string path;  ///< absolute
    std::string relativePath;
    std::int64_t bytes = 0;
    std::int64_t mtimeNs = 0;
    std::uint64_t inode = 0;
    std::uint64_t device = 0;   ///< local files: of the file system
    std::int64_t changeNs = 0;  ///< of the inode (ctime), which no one can set back
    std::string etag;           ///< of an object, as its facts were read; empty: not told
};

/// `baseDir`: what relative paths are relative to. `format` (parquet, csv, arrow) chooses which
/// names count as data files below a directory.
Result<std::vector<DataFile>> listFiles(const std::vector<std::string>& paths,
                                        const std::string& baseDir, std::string_view format);

/// Size, time and inode of one file, as listFiles gives them. `written`: the path for messages.
Result<DataFile> statFile(const std::string& path, std::string_view written);

/// Whether `name` matches one path component of a glob (*, ?, [..]; braces already expanded).
bool matchesGlob(std::string_view pattern, std::string_view name);

}  // namespace millrace::files

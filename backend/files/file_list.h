#pragma once
// Lists the files in dataset.path: one file, a directory, a glob, or a list of these.
//
// Globs support *, ?, [..], ** (any depth) and {a,b}. Order: the entries as given; within an entry
// by the bytes of the path below its fixed part (the directories before the first wildcard). Names
// that start with '.' or '_' are skipped below a directory or a wildcard. Links are followed; a
// link in a cycle, or to files that are also read under another name, is an error. Failure: one
// sentence that names the path as written; kNotFound for missing files, kInvalidArgument for such
// links and for more than 10,000 alternatives of a pattern.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::files {

/// One data file that was found. `relativePath` is the key of random draws: the path below the
/// entry's fixed part, or the path as written if several entries would share it.
struct DataFile {
    std::string path;  ///< absolute
    std::string relativePath;
    std::int64_t bytes = 0;
    std::int64_t mtimeNs = 0;
    std::uint64_t inode = 0;
    std::uint64_t device = 0;   ///< local files: of the file system
    std::int64_t changeNs = 0;  ///< of the inode (ctime), which nobody can set back
    std::string etag;           ///< of an object when its facts were read; empty: unknown
};

/// `baseDir`: base of relative paths. `format` (parquet, csv, arrow) decides which names are data
/// files below a directory.
Result<std::vector<DataFile>> listFiles(const std::vector<std::string>& paths,
                                        const std::string& baseDir, std::string_view format);

/// Size, time and inode of one file, as in listFiles(). `written`: the path for messages.
Result<DataFile> statFile(const std::string& path, std::string_view written);

/// Whether `name` matches one path component of a glob (*, ?, [..]; braces already expanded).
bool matchesGlob(std::string_view pattern, std::string_view name);

}  // namespace millrace::files

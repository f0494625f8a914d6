#pragma once
// A directory of files that may go at any time, kept below a size: the least recently used go
// first.
//
// A file's time of change is when it was used last. Threads and processes: any. Failure: none; what
// cannot be removed stays.
#include <chrono>
#include <cstdint>
#include <string>

namespace millrace {

struct FileCacheBound {
    std::int64_t bytesMost = 0;         ///< nothing is removed up to this
    std::int64_t bytesLeft = 0;         ///< what is left where it is more
    std::chrono::seconds freshFor{60};  ///< a file that was used since then stays
};

/// Looks at the files directly in `directory`.
void boundFileCache(const std::string& directory, const FileCacheBound& bound);

/// The file counts as used now.
void markUsed(const std::string& path);

}  // namespace millrace

#pragma once
// Reads and caches the facts of data files that planning needs.
//
// Facts are cached by (absolute path, size, mtime in ns, inode) and the reading options. The cache
// is in memory and, if a directory is given, on disk, in one file per directory of data.
// Threads: any. Failure: kDataLoss for a truncated or corrupt file, kInvalidArgument for a broken
// CSV row; the message names the file (and the line) and what is wrong.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/files/file_list.h"
#include "backend/files/file_metadata.h"

namespace millrace::dataset {

/// Reads the facts of one file, without a cache.
Result<files::FileMetadata> readFacts(const files::DataFile& file,
                                      const files::ReadOptions& options, int threads = 1);

class MetadataCache {
 public:
    /// `directory`: for facts on disk ("" for memory only); created when first needed. Failing to
    /// write the cache is not an error.
    explicit MetadataCache(std::string directory = "") : directory_(std::move(directory)) {}

    Result<std::shared_ptr<const files::FileMetadata>> get(const files::DataFile& file,
                                                           const files::ReadOptions& options);

    /// Facts of all files, read in up to `threads` threads; returns the first error in file order.
    Result<std::vector<std::shared_ptr<const files::FileMetadata>>> getAll(
        const std::vector<files::DataFile>& files, const files::ReadOptions& options, int threads);

 private:
    const std::string directory_;
    Mutex mutex_;
    std::map<std::string, std::shared_ptr<const files::FileMetadata>> facts_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::dataset

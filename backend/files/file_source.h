#pragma once
// A data file's bytes by position, wherever they lie: a local file or an object of a store.
//
// Local files are read straight from the system (pread into the caller's memory, nothing ahead).
// Objects are read by ranges; what was fetched before is handed out without a copy. All
// reads are of the file that was checked: a local one by its identity (file_identity.h) at open()
// and at each verify(), an object by its ETag.
// Threads: one at a time. Failure: kNotFound, kUnavailable ..., each naming the file;
// kFailedPrecondition for another file than the one checked. Because the libraries above know
// Arrow's errors only, error() keeps the first one as it was.
#include <cstdint>
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/files/file_list.h"

namespace arrow {
class Buffer;
class MemoryPool;
namespace io {
class RandomAccessFile;
}
}  // namespace arrow

namespace millrace::files {

/// What was fetched of objects before it is read.
class FetchedBytes {
 public:
    virtual ~FetchedBytes() = default;
    /// The bytes, when they are among what was asked for; waits while they are being fetched. Null:
    /// ask the store. Failure: that of the request, after all its tries.
    virtual Result<std::shared_ptr<arrow::Buffer>> take(std::uint32_t file, std::int64_t offset,
                                                        std::int64_t bytes) = 0;
};

class FileSource {
 public:
    /// `pool`: where buffers come from; null for Arrow's default pool.
    static Result<FileSource> open(const DataFile& file, arrow::MemoryPool* pool = nullptr);

    /// An object whose ranges `fetched` may hold under the number `index` of a dataset's file.
    static Result<FileSource> openAhead(const DataFile& file, arrow::MemoryPool* pool,
                                        std::shared_ptr<FetchedBytes> fetched, std::uint32_t index);

    const DataFile& file() const { return file_; }
    /// The file as Arrow's readers take it.
    const std::shared_ptr<arrow::io::RandomAccessFile>& input() const { return input_; }

    /// Exactly `bytes` bytes at `offset`; kDataLoss when the file ends before.
    Status readAt(std::int64_t offset, std::int64_t bytes, void* out) const;
    Result<std::string> readText(std::int64_t offset, std::int64_t bytes) const;

    /// Up to `bytes` bytes at `offset`: 0 at the end of the file.
    Result<std::int64_t> readSome(std::int64_t offset, std::int64_t bytes, void* out) const;

    /// The first failure of a read of an object; OK for a local file.
    Status error() const;

    /// To be asked after reads: whether what was read is of the file that was checked.
    Status verify() const;

    /// Of the object's version that is read; empty for a local file, or before the first read.
    std::string etag() const;

 private:
    DataFile file_;
    int fd_ = -1;  ///< of a local file; input_'s
    bool isObject_ = false;
    std::shared_ptr<arrow::io::RandomAccessFile> input_;
};

}  // namespace millrace::files

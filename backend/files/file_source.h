#pragma once
// Reads a data file's bytes by position: a local file, or an object in a store.
//
// Local files are read with pread into the caller's memory, without read-ahead. Objects are read by
// ranges; bytes fetched ahead are returned without a copy. All reads are from the checked file: a
// local file is verified by its identity (file_identity.h) at open() and at each verify(), an
// object by its ETag.
// Threads: one at a time. Failure: kNotFound, kUnavailable ..., each naming the file;
// kFailedPrecondition for a file other than the checked one. Libraries in between only pass Arrow's
// errors on, so error() keeps the first original one.
#include <cstdint>
#include <memory>
#include <string>

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/files/file_list.h"

namespace millrace::files {

/// Bytes of objects that were fetched before they are read.
class FetchedBytes {
 public:
    virtual ~FetchedBytes() = default;
    /// Returns the bytes if they were requested; waits while they are being fetched. Null: read
    /// from the store. Failure: that of the request, after all its attempts.
    virtual Result<std::shared_ptr<arrow::Buffer>> take(std::uint32_t file, std::int64_t offset,
                                                        std::int64_t bytes) = 0;
};

class FileSource {
 public:
    /// `pool`: where buffers come from; null for Arrow's default pool.
    static Result<FileSource> open(const DataFile& file, arrow::MemoryPool* pool = nullptr);

    /// Opens an object; `fetched` may hold its ranges under `index`, the file's number in a
    /// dataset.
    static Result<FileSource> openAhead(const DataFile& file, arrow::MemoryPool* pool,
                                        std::shared_ptr<FetchedBytes> fetched, std::uint32_t index);

    const DataFile& file() const { return file_; }
    /// The file for Arrow's readers.
    const std::shared_ptr<arrow::io::RandomAccessFile>& input() const { return input_; }

    /// Reads exactly `bytes` bytes at `offset`; kDataLoss if the file ends earlier.
    Status readAt(std::int64_t offset, std::int64_t bytes, void* out) const;
    Result<std::string> readText(std::int64_t offset, std::int64_t bytes) const;

    /// Reads up to `bytes` bytes at `offset`; returns 0 at the end of the file.
    Result<std::int64_t> readSome(std::int64_t offset, std::int64_t bytes, void* out) const;

    /// The first failure of a read of an object; OK for a local file.
    Status error() const;

    /// Call it after reads: whether the bytes are from the checked file.
    Status verify() const;

    /// Version of the object being read; empty for a local file, or before the first read.
    std::string etag() const;

 private:
    DataFile file_;
    int fd_ = -1;  ///< of a local file; owned by input_
    bool isObject_ = false;
    std::shared_ptr<arrow::io::RandomAccessFile> input_;
};

}  // namespace millrace::files

#pragma once
// A file whose asynchronous reads are done at once, by the thread that asks.
//
// Arrow's readers fetch a footer by ReadAsync even where they are called synchronously. Done on
// Arrow's I/O threads, such a thread may give its last reference to the buffer back after the
// reader has returned, that is to a pool that is gone by then. Here no other thread ever holds a
// buffer of the file's pool. Threads: one at a time.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace arrow {
class MemoryPool;
}  // namespace arrow

namespace millrace::files {

/// What a file must have: ReadAt() of both kinds, which may be short at the end of the file. Reads
/// without a position go on where the last one ended.
class InlineFile : public arrow::io::RandomAccessFile {
 public:
    using Bytes = std::shared_ptr<arrow::Buffer>;
    using arrow::io::RandomAccessFile::ReadAsync;
    using arrow::io::RandomAccessFile::ReadManyAsync;

    arrow::Result<std::int64_t> Tell() const final { return position_; }
    arrow::Status Seek(std::int64_t position) final;
    arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) final;
    arrow::Result<Bytes> Read(std::int64_t bytes) final;

    arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t bytes,
                                       void* out) override = 0;
    arrow::Result<Bytes> ReadAt(std::int64_t position, std::int64_t bytes) override = 0;
    arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t bytes, bool mayBeShort,
                                       void* out) final;
    arrow::Result<Bytes> ReadAt(std::int64_t position, std::int64_t bytes, bool mayBeShort) final;

    arrow::Future<Bytes> ReadAsync(const arrow::io::IOContext& context, std::int64_t position,
                                   std::int64_t bytes, bool mayBeShort) final;
    arrow::Future<Bytes> ReadAsync(const arrow::io::IOContext& context, std::int64_t position,
                                   std::int64_t bytes) final;
    std::vector<arrow::Future<Bytes>> ReadManyAsync(
        const arrow::io::IOContext& context, const std::vector<arrow::io::ReadRange>& ranges) final;

 private:
    std::int64_t position_ = 0;
};

/// A local file by pread: nothing is read ahead, but a file of at most 64 kB is read whole by its
/// second read. Failure: what the system says of its size.
Result<std::shared_ptr<InlineFile>> localFile(UniqueFd fd, const std::string& path,
                                              arrow::MemoryPool* pool);

}  // namespace millrace::files

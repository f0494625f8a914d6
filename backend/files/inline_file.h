#pragma once
// A file whose asynchronous reads run at once, in the calling thread.
//
// Arrow's readers fetch a footer by ReadAsync even in synchronous calls. On Arrow's I/O threads,
// such a thread might release its last reference to the buffer after the reader has returned, to a
// pool that no longer exists. Here no other thread ever holds a buffer of the file's pool.
// Threads: one at a time.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::files {

/// Subclasses provide both forms of ReadAt(), which may be short at the end of the file. Reads
/// without a position continue where the last one ended.
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

/// A local file, read by pread without read-ahead; a file of at most 64 kB is loaded by its second
/// read. Failure: the system's error for its size.
Result<std::shared_ptr<InlineFile>> localFile(UniqueFd fd, const std::string& path,
                                              arrow::MemoryPool* pool);

}  // namespace millrace::files

#include "backend/files/inline_file.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/status.h>
#include <arrow/util/future.h>

namespace millrace::files {
namespace {

class LocalFile final : public InlineFile {
 public:
    using InlineFile::ReadAt;
    LocalFile(UniqueFd fd, std::int64_t bytes, arrow::MemoryPool* pool)
        : fd_(std::move(fd)), bytes_(bytes), pool_(pool) {}

    arrow::Status Close() override {
        fd_.reset();
        return arrow::Status::OK();
    }
    bool closed() const override { return !fd_.isOpen(); }
    arrow::Result<std::int64_t> GetSize() override { return bytes_; }

    arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t bytes,
                                       void* out) override {
        if (position < 0 || bytes < 0) {
            return arrow::Status::Invalid("a read of ", bytes, " bytes at ", position);
        }
        // The first read is often the footer only, so it does not load the whole file.
        if (bytes_ > kSmall || !std::exchange(wasRead_, true)) {
            return readSystem(position, bytes, out);
        }
        if (all_ == nullptr) {
            auto all = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(bytes_));
            ARROW_ASSIGN_OR_RAISE(allBytes_, readSystem(0, bytes_, all.get()));
            all_ = std::move(all);
        }
        const std::int64_t read =
            std::clamp<std::int64_t>(allBytes_ - position, 0, std::min(bytes, allBytes_));
        std::copy_n(all_.get() + std::min(position, allBytes_), read, static_cast<char*>(out));
        return read;
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position,
                                                         std::int64_t bytes) override {
        // Limits the allocation to the file's size, as a damaged file may request more.
        const std::int64_t room = std::max<std::int64_t>(bytes_ - position, 0);
        ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(
                                               std::clamp<std::int64_t>(bytes, 0, room), pool_));
        ARROW_ASSIGN_OR_RAISE(const std::int64_t read,
                              ReadAt(position, buffer->size(), buffer->mutable_data()));
        if (read < buffer->size()) {
            ARROW_RETURN_NOT_OK(buffer->Resize(read));
        }
        return std::shared_ptr<arrow::Buffer>(std::move(buffer));
    }

 private:
    static constexpr std::int64_t kMostAtOnce = 1 << 30;  // Linux limits a read to 2 GB
    static constexpr std::int64_t kSmall = 64 << 10;  // up to this size, one whole read is cheaper
                                                      // than two reads

    arrow::Result<std::int64_t> readSystem(std::int64_t position, std::int64_t bytes,
                                           void* out) const {
        std::int64_t done = 0;
        while (done < bytes) {
            const ::ssize_t n = ::pread(
                fd_.get(), static_cast<char*>(out) + done,
                static_cast<std::size_t>(std::min(bytes - done, kMostAtOnce)), position + done);
            if (n < 0 && errno == EINTR) {
                continue;
            }
            if (n < 0) {
                return arrow::Status::IOError(messageOf(errnoStatus(errno, "read")));
            }
            if (n == 0) {
                break;
            }
            done += n;
        }
        return done;
    }

    UniqueFd fd_;
    const std::int64_t bytes_;
    arrow::MemoryPool* const pool_;
    bool wasRead_ = false;         ///< for a small file: read once already
    std::unique_ptr<char[]> all_;  ///< content of a small file, from the second read on
    std::int64_t allBytes_ = 0;
};

arrow::Status cutShort(std::int64_t position, std::int64_t bytes, std::int64_t read) {
    return arrow::Status::IOError("truncated: ", read, " of ", bytes, " bytes at ", position);
}

}  // namespace

arrow::Status InlineFile::Seek(std::int64_t position) {
    if (position < 0) {
        return arrow::Status::Invalid("a place before the file's begin");
    }
    position_ = position;
    return arrow::Status::OK();
}

arrow::Result<std::int64_t> InlineFile::Read(std::int64_t bytes, void* out) {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t read, ReadAt(position_, bytes, out));
    position_ += read;
    return read;
}

arrow::Result<InlineFile::Bytes> InlineFile::Read(std::int64_t bytes) {
    ARROW_ASSIGN_OR_RAISE(Bytes read, ReadAt(position_, bytes));
    position_ += read->size();
    return read;
}

arrow::Result<std::int64_t> InlineFile::ReadAt(std::int64_t position, std::int64_t bytes,
                                               bool mayBeShort, void* out) {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t read, ReadAt(position, bytes, out));
    return read == bytes || mayBeShort ? arrow::Result<std::int64_t>(read)
                                       : cutShort(position, bytes, read);
}

arrow::Result<InlineFile::Bytes> InlineFile::ReadAt(std::int64_t position, std::int64_t bytes,
                                                    bool mayBeShort) {
    ARROW_ASSIGN_OR_RAISE(Bytes read, ReadAt(position, bytes));
    if (read->size() != bytes && !mayBeShort) {
        return cutShort(position, bytes, read->size());
    }
    return read;
}

arrow::Future<InlineFile::Bytes> InlineFile::ReadAsync(const arrow::io::IOContext& /*context*/,
                                                       std::int64_t position, std::int64_t bytes,
                                                       bool mayBeShort) {
    return arrow::Future<Bytes>::MakeFinished(ReadAt(position, bytes, mayBeShort));
}

arrow::Future<InlineFile::Bytes> InlineFile::ReadAsync(const arrow::io::IOContext& /*context*/,
                                                       std::int64_t position, std::int64_t bytes) {
    return arrow::Future<Bytes>::MakeFinished(ReadAt(position, bytes));
}

std::vector<arrow::Future<InlineFile::Bytes>> InlineFile::ReadManyAsync(
    const arrow::io::IOContext& context, const std::vector<arrow::io::ReadRange>& ranges) {
    std::vector<arrow::Future<Bytes>> reads;
    reads.reserve(ranges.size());
    for (const arrow::io::ReadRange& range : ranges) {
        reads.push_back(ReadAsync(context, range.offset, range.length));
    }
    return reads;
}

Result<std::shared_ptr<InlineFile>> localFile(UniqueFd fd, const std::string& path,
                                              arrow::MemoryPool* pool) {
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0) {
        return errnoStatus(errno, path);
    }
    return std::make_shared<LocalFile>(std::move(fd), info.st_size, pool);
}

}  // namespace millrace::files

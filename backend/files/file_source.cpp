#include "backend/files/file_source.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/mutex.h"
#include "backend/core/unique_fd.h"
#include "backend/files/file_identity.h"
#include "backend/files/inline_file.h"
#include "backend/objects/object_store.h"

namespace millrace::files {
namespace {

/// Presents an object to Arrow's readers: uses ranges fetched ahead, and the store for the rest.
class ObjectFile final : public InlineFile {
 public:
    using InlineFile::ReadAt;
    ObjectFile(const DataFile& file, arrow::MemoryPool* pool,
               std::shared_ptr<const objects::ObjectStore> store,
               std::shared_ptr<FetchedBytes> fetched, std::uint32_t index)
        : uri_(file.path),
          bytes_(file.bytes),
          pool_(pool),
          store_(std::move(store)),
          fetched_(std::move(fetched)),
          index_(index),
          etag_(file.etag) {}

    arrow::Status Close() override {
        isClosed_ = true;
        return arrow::Status::OK();
    }
    bool closed() const override { return isClosed_; }
    arrow::Result<std::int64_t> GetSize() override { return bytes_; }

    arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t bytes,
                                       void* out) override {
        bytes = std::clamp<std::int64_t>(bytes_ - position, 0, bytes);
        ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> ahead, taken(position, bytes));
        if (ahead != nullptr) {
            std::copy_n(ahead->data(), bytes, static_cast<std::uint8_t*>(out));
            return bytes;
        }
        return fromStore(position, bytes, out);
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position,
                                                         std::int64_t bytes) override {
        bytes = std::clamp<std::int64_t>(bytes_ - position, 0, bytes);
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> ahead, taken(position, bytes));
        if (ahead != nullptr) {
            return ahead;
        }
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer,
                              arrow::AllocateBuffer(bytes, pool_));
        ARROW_RETURN_NOT_OK(fromStore(position, bytes, buffer->mutable_data()).status());
        return buffer;
    }

    Status error() const {
        MutexLock lock(mutex_);
        return error_;
    }
    std::string etag() const {
        MutexLock lock(mutex_);
        return etag_;
    }

 private:
    arrow::Result<std::shared_ptr<arrow::Buffer>> taken(std::int64_t position, std::int64_t bytes) {
        if (fetched_ == nullptr || bytes == 0) {
            return std::shared_ptr<arrow::Buffer>();
        }
        Result<std::shared_ptr<arrow::Buffer>> ahead = fetched_->take(index_, position, bytes);
        if (!ahead.ok()) {
            return failed(ahead.status());
        }
        return *std::move(ahead);
    }
    arrow::Status failed(const Status& status) {
        MutexLock lock(mutex_);
        error_ = error_.ok() ? status : error_;
        return arrow::Status::IOError(std::string(messageOf(status)));
    }
    arrow::Result<std::int64_t> fromStore(std::int64_t position, std::int64_t bytes, void* out) {
        if (bytes == 0) {
            return 0;
        }
        const Result<objects::ObjectBytes> read =
            store_->read(uri_, {position, bytes, etag()}, out);
        if (!read.ok()) {
            return failed(read.status());
        }
        if (read->count != bytes) {
            return failed(dataLoss(uri_, ": truncated while it was read: ", read->count, " of ",
                                   bytes, " bytes at ", position));
        }
        MutexLock lock(mutex_);
        etag_ = etag_.empty() ? read->etag : etag_;  // all later reads must have this version
        return bytes;
    }

    const std::string uri_;
    const std::int64_t bytes_;
    arrow::MemoryPool* const pool_;
    const std::shared_ptr<const objects::ObjectStore> store_;
    const std::shared_ptr<FetchedBytes> fetched_;
    const std::uint32_t index_;
    bool isClosed_ = false;
    mutable Mutex mutex_;
    Status error_ MR_GUARDED_BY(mutex_);
    std::string etag_ MR_GUARDED_BY(mutex_);
};

}  // namespace

Result<FileSource> FileSource::open(const DataFile& file, arrow::MemoryPool* pool) {
    return openAhead(file, pool, nullptr, 0);
}

Result<FileSource> FileSource::openAhead(const DataFile& file, arrow::MemoryPool* pool,
                                         std::shared_ptr<FetchedBytes> fetched,
                                         std::uint32_t index) {
    FileSource source;
    source.file_ = file;
    pool = pool == nullptr ? arrow::default_memory_pool() : pool;
    if (objects::isObjectUri(file.path)) {
        ASSIGN_OR_RETURN(auto store, objects::ObjectStore::open());
        source.isObject_ = true;
        source.input_ =
            std::make_shared<ObjectFile>(file, pool, std::move(store), std::move(fetched), index);
        return source;
    }
    UniqueFd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.isOpen()) {
        return errnoStatus(errno, file.path);
    }
    RETURN_IF_ERROR(verifyOpen(file, fd.get()));
    source.fd_ = fd.get();  // the file owns it from here on
    ASSIGN_OR_RETURN(source.input_, localFile(std::move(fd), file.path, pool));
    return source;
}

Result<std::int64_t> FileSource::readSome(std::int64_t offset, std::int64_t bytes,
                                          void* out) const {
    const auto read = input_->ReadAt(offset, bytes, out);
    RETURN_IF_ERROR(error());
    return arrays::fromArrow(read, file_.path);
}

Status FileSource::readAt(std::int64_t offset, std::int64_t bytes, void* out) const {
    ASSIGN_OR_RETURN(const std::int64_t read, readSome(offset, bytes, out));
    return read == bytes ? okStatus() : dataLoss(file_.path, ": truncated while it was read");
}

Result<std::string> FileSource::readText(std::int64_t offset, std::int64_t bytes) const {
    std::string text(static_cast<std::size_t>(bytes), '\0');
    RETURN_IF_ERROR(readAt(offset, bytes, text.data()));
    return text;
}

Status FileSource::error() const {
    return isObject_ ? static_cast<const ObjectFile&>(*input_).error() : okStatus();
}

Status FileSource::verify() const {
    return isObject_ ? error() : verifyOpen(file_, fd_);
}

std::string FileSource::etag() const {
    return isObject_ ? static_cast<const ObjectFile&>(*input_).etag() : "";
}

}  // namespace millrace::files

#include "backend/csv/csv_input.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/util/compression.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/files/packed_content.h"
#include "backend/objects/object_store.h"

namespace millrace::csv {
namespace {

constexpr std::int64_t kSkipBytes = 1 << 20;
constexpr std::int64_t kRequestBytes = 8 << 20;  // of an object: each request costs its latency
constexpr std::int64_t kBlockBytes = 64 << 10;   // of a local gzip file

/// Reads a file from its start; closing it leaves the file open. `requestBytes`: minimum per read
/// of the file.
class FromStart final : public arrow::io::InputStream {
 public:
    FromStart(files::FileSource file, std::int64_t requestBytes, arrow::MemoryPool* pool)
        : file_(std::move(file)), requestBytes_(requestBytes), pool_(pool) {}
    arrow::Status Close() override { return arrow::Status::OK(); }
    bool closed() const override { return false; }
    arrow::Result<std::int64_t> Tell() const override { return at_ - (keptSize_ - kept_); }
    arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
        if (bytes >= requestBytes_ && kept_ == keptSize_) {
            return readFile(bytes, static_cast<char*>(out));
        }
        if (kept_ == keptSize_) {
            block_.resize(static_cast<std::size_t>(requestBytes_));
            kept_ = keptSize_ = 0;
            ARROW_ASSIGN_OR_RAISE(keptSize_, readFile(requestBytes_, block_.data()));
        }
        const std::int64_t taken = std::min(bytes, keptSize_ - kept_);
        std::memcpy(out, block_.data() + kept_, static_cast<std::size_t>(taken));
        kept_ += taken;
        return taken;
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
        ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(bytes, pool_));
        ARROW_ASSIGN_OR_RAISE(const std::int64_t read, Read(bytes, buffer->mutable_data()));
        ARROW_RETURN_NOT_OK(buffer->Resize(read));
        return std::shared_ptr<arrow::Buffer>(std::move(buffer));
    }

 private:
    arrow::Result<std::int64_t> readFile(std::int64_t bytes, char* out) {
        const Result<std::int64_t> read = file_.readSome(at_, bytes, out);
        if (!read.ok()) {
            return arrow::Status::IOError(std::string(messageOf(read.status())));
        }
        at_ += *read;
        return *read;
    }

    const files::FileSource file_;
    const std::int64_t requestBytes_;
    arrow::MemoryPool* const pool_;
    std::int64_t at_ = 0;                   ///< in the file
    std::vector<char> block_;               ///< bytes read from the file and not yet returned
    std::int64_t kept_ = 0, keptSize_ = 0;  ///< start and end of these bytes
};

}  // namespace

Result<CsvInput> CsvInput::open(const std::string& path, files::FileSource file,
                                arrow::MemoryPool* pool, std::shared_ptr<GzipPoints> points) {
    CsvInput input(std::move(file));
    input.path_ = path;
    input.pool_ = pool == nullptr ? arrow::default_memory_pool() : pool;
    std::string start(files::kContentBytes, '\0');
    ASSIGN_OR_RETURN(const std::int64_t read,
                     input.file_.readSome(0, std::int64_t{files::kContentBytes}, start.data()));
    start.resize(static_cast<std::size_t>(read));
    if (const std::string_view packed = files::packedContent(start); !packed.empty()) {
        return invalidArgument(path, ": ", packed);
    }
    if (files::isGzip(start)) {
        const std::int64_t request = objects::isObjectUri(path) ? kRequestBytes : kBlockBytes;
        input.gzip_ = std::make_unique<GzipText>(path, input.file_, request, std::move(points));
    } else if (files::isZstd(start)) {
        ASSIGN_OR_RETURN(
            std::unique_ptr<arrow::util::Codec> codec,
            arrays::fromArrow(arrow::util::Codec::Create(arrow::Compression::ZSTD), path));
        input.codec_ = std::move(codec);
        RETURN_IF_ERROR(input.restart());
    }
    return input;
}

Status CsvInput::restart() {
    stream_.reset();
    const auto file =
        std::make_shared<FromStart>(file_, objects::isObjectUri(path_) ? kRequestBytes : 1, pool_);
    ASSIGN_OR_RETURN(stream_,
                     arrays::fromArrow(
                         arrow::io::CompressedInputStream::Make(codec_.get(), file, pool_), path_));
    at_ = 0;
    return okStatus();
}

Result<std::int64_t> CsvInput::readSome(std::int64_t offset, std::int64_t bytes, void* out) {
    if (gzip_ != nullptr) {
        return gzip_->readSome(offset, bytes, static_cast<char*>(out));
    }
    if (codec_ == nullptr) {
        return file_.readSome(offset, bytes, out);
    }
    if (offset < at_) {
        RETURN_IF_ERROR(restart());
    }
    std::vector<char> passed;
    std::int64_t done = 0;
    while (done < bytes) {
        const bool isBefore = at_ < offset;
        if (isBefore) {
            passed.resize(static_cast<std::size_t>(std::min(kSkipBytes, offset - at_)));
        }
        const auto read =
            isBefore ? stream_->Read(static_cast<std::int64_t>(passed.size()), passed.data())
                     : stream_->Read(bytes - done, static_cast<char*>(out) + done);
        RETURN_IF_ERROR(file_.error());
        if (!read.ok()) {
            return dataLoss(path_, ": damaged or truncated: ", read.status().message());
        }
        if (*read == 0) {
            break;
        }
        at_ += *read;
        done += isBefore ? 0 : *read;
    }
    return done;
}

}  // namespace millrace::csv

#include "backend/pages/page_stream.h"

#include <algorithm>
#include <cstring>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/util/compression.h>
#include <parquet/metadata.h>
#include <zstd.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/pages/crc32.h"
#include "backend/pages/parquet_footers.h"

namespace millrace::pages {
namespace {

constexpr std::int64_t kStretch = 4 << 20;  // most chunks are read in one piece
constexpr std::int64_t kLongestHeader = 16 << 20;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;  // a damaged footer may claim more

Status damagedChunk(std::string_view what) {
    return dataLoss("corrupt: ", what);
}

}  // namespace

struct PageStream::Zstd {
    ZSTD_DCtx* const context = ZSTD_createDCtx();
    ~Zstd() { ZSTD_freeDCtx(context); }
};

PageStream::PageStream(arrow::MemoryPool* pool) : pool_(pool) {}
PageStream::~PageStream() = default;

Result<bool> PageStream::open(arrow::io::RandomAccessFile& file,
                              const parquet::ColumnChunkMetaData& chunk) {
    if (chunk.crypto_metadata() != nullptr ||
        !arrow::util::Codec::IsAvailable(chunk.compression())) {
        return false;
    }
    file_ = &file;
    const ByteRange range = rangeOf(chunk);
    at_ = range.offset;
    end_ = aheadEnd_ = range.end();
    // Includes the headers between the bodies, and a little for levels that do not compress.
    mostBytes_ = std::min(chunk.total_uncompressed_size(), kMostBytes) + 64;
    from_ = filled_ = bodyLeft_ = 0;
    const auto codec = static_cast<std::int32_t>(chunk.compression());
    if (codec != codecOf_) {
        codec_.reset();
        codecOf_ = codec;
        if (chunk.compression() == arrow::Compression::ZSTD) {
            zstd_ = std::make_unique<Zstd>();
        } else if (chunk.compression() != arrow::Compression::UNCOMPRESSED) {
            ASSIGN_OR_RETURN(codec_,
                             arrays::fromArrow(arrow::util::Codec::Create(chunk.compression()),
                                               "decompression"));
        }
    }
    for (auto* memory : {&window_, &page_, &dictionary_}) {
        if (*memory == nullptr) {
            ASSIGN_OR_RETURN(*memory,
                             arrays::fromArrow(arrow::AllocateResizableBuffer(0, pool_), "decode"));
        }
    }
    return true;
}

void PageStream::close() {
    window_.reset();
    page_.reset();
    dictionary_.reset();
}

// Makes at least `bytes` unread bytes available in the window, or all that the chunk has left.
Status PageStream::fill(std::int64_t bytes) {
    const std::int64_t unread = filled_ - from_;
    if (unread >= bytes || at_ >= end_) {
        return okStatus();
    }
    const std::int64_t ahead = std::min(kStretch, aheadEnd_ - at_);
    const std::int64_t wanted = std::min(std::max(bytes - unread, ahead), end_ - at_);
    if (window_->size() < unread + wanted) {
        // Unread bytes move to the front; the others are not needed.
        std::memmove(window_->mutable_data(), window_->data() + from_,
                     static_cast<std::size_t>(unread));
        RETURN_IF_ERROR(
            arrays::fromArrow(window_->Resize(unread + wanted, /*shrink_to_fit=*/false), "decode"));
    } else {
        std::memmove(window_->mutable_data(), window_->data() + from_,
                     static_cast<std::size_t>(unread));
    }
    from_ = 0;
    filled_ = unread;
    ASSIGN_OR_RETURN(
        const std::int64_t read,
        arrays::fromArrow(file_->ReadAt(at_, wanted, window_->mutable_data() + unread), "reading"));
    if (read < wanted) {
        return damagedChunk("the file ends within a column chunk");
    }
    at_ += read;
    filled_ += read;
    bytesRead_ += read;
    return okStatus();
}

void PageStream::seek(std::int64_t offset, std::int64_t aheadEnd) {
    const std::int64_t windowAt = at_ - filled_;
    bodyLeft_ = 0;
    aheadEnd_ = aheadEnd;
    if (offset >= windowAt && offset <= at_) {
        from_ = offset - windowAt;
        return;
    }
    at_ = offset;
    from_ = filled_ = 0;
}

Result<bool> PageStream::next(PageHeader& header) {
    while (bodyLeft_ > 0) {  // skips a body that was not read
        RETURN_IF_ERROR(fill(std::min(bodyLeft_, kStretch)));
        const std::int64_t n = std::min(bodyLeft_, filled_ - from_);
        if (n == 0) {
            return damagedChunk("a page that ends behind its column chunk");
        }
        from_ += n;
        bodyLeft_ -= n;
    }
    std::int64_t wanted = 4096;
    for (;;) {
        RETURN_IF_ERROR(fill(wanted));
        const std::int64_t unread = filled_ - from_;
        if (unread == 0) {
            return false;
        }
        const std::uint8_t* const data = window_->data() + from_;
        const std::int64_t length = parsePageHeader({data, data + unread}, header);
        if (length > 0) {
            pageAt_ = at_ - unread;
            from_ += length;
            break;
        }
        if (length < 0 || unread < wanted || wanted > kLongestHeader) {
            return damagedChunk("a page header");
        }
        wanted *= 2;
    }
    if (header.bytes > mostBytes_ || header.compressedBytes > end_ - at_ + (filled_ - from_)) {
        return damagedChunk("a page larger than its column chunk");
    }
    header_ = header;
    bodyLeft_ = header.compressedBytes;
    return true;
}

Result<arrays::ByteSpan> PageStream::bodyInto(std::shared_ptr<arrow::ResizableBuffer>& memory) {
    RETURN_IF_ERROR(fill(bodyLeft_));
    if (filled_ - from_ < bodyLeft_) {
        return damagedChunk("a page that ends behind its column chunk");
    }
    const std::uint8_t* const data = window_->data() + from_;
    arrays::ByteSpan from{data, data + bodyLeft_};
    from_ += bodyLeft_;
    bodyLeft_ = 0;
    if (header_.hasCrc && crc32Of(from) != static_cast<std::uint32_t>(header_.crc)) {
        return damagedChunk(strCat("the page at byte ", pageAt_,
                                   " of the file does not match its checksum; the bytes changed "
                                   "since they were written, so fetch the file again"));
    }
    const bool isV2 = header_.type == PageHeader::kDataV2;
    const std::int64_t levels =
        isV2 ? std::int64_t{header_.definitionBytes} + header_.repetitionBytes : 0;
    if (levels > from.size() || levels > header_.bytes) {
        return damagedChunk("a page shorter than its levels");
    }
    const bool isPlain = codecOf_ == static_cast<std::int32_t>(arrow::Compression::UNCOMPRESSED) ||
                         (isV2 && !header_.isCompressed);
    if (isPlain && &memory == &page_) {
        return from;
    }
    if (memory->size() < header_.bytes) {
        RETURN_IF_ERROR(
            arrays::fromArrow(memory->Resize(header_.bytes, /*shrink_to_fit=*/false), "decode"));
    }
    std::uint8_t* const to = memory->mutable_data();
    if (isPlain) {
        const std::int64_t bytes = std::min<std::int64_t>(from.size(), header_.bytes);
        std::memcpy(to, from.begin, static_cast<std::size_t>(bytes));
        return arrays::ByteSpan{to, to + bytes};
    }
    std::memcpy(to, from.begin, static_cast<std::size_t>(levels));
    from.begin += levels;
    RETURN_IF_ERROR(decompress(from, to + levels, header_.bytes - levels));
    return arrays::ByteSpan{to, to + header_.bytes};
}

Status PageStream::decompress(arrays::ByteSpan from, std::uint8_t* to, std::int64_t bytes) {
    if (bytes == 0) {
        return okStatus();
    }
    if (codec_ == nullptr) {
        const std::size_t got =
            ZSTD_decompressDCtx(zstd_->context, to, static_cast<std::size_t>(bytes), from.begin,
                                static_cast<std::size_t>(from.size()));
        if (ZSTD_isError(got) != 0) {
            return damagedChunk(
                strCat("a page that cannot be decompressed (zstd: ", ZSTD_getErrorName(got), ")"));
        }
        return got == static_cast<std::size_t>(bytes)
                   ? okStatus()
                   : damagedChunk("a page shorter than its header says");
    }
    ASSIGN_OR_RETURN(const std::int64_t got,
                     arrays::fromArrow(codec_->Decompress(from.size(), from.begin, bytes, to),
                                       "corrupt: a page"));
    return got == bytes ? okStatus() : damagedChunk("a page shorter than its header says");
}

}  // namespace millrace::pages

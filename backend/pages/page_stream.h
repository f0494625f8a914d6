#pragma once
// The pages of one column chunk: headers as they come, bodies decompressed when they are asked for.
//
// Reads the file in stretches of a few MB, decompresses into memory that is used again, and
// keeps one decompressor for all pages (making one a page costs a twentieth of a scan).
// Format: https://parquet.apache.org/docs/file-format/data-pages/ ; page headers are Thrift,
// compact protocol (https://github.com/apache/thrift/blob/master/doc/specs).
// Threads: one. Failure: kDataLoss without a place for bytes that contradict the format; what Arrow
// says of reading the file. Nothing is allocated by the say of a header beyond what the footer says
// of the chunk. A body that is asked for is held against its checksum where the header has one.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/type_fwd.h>
#include <arrow/util/type_fwd.h>

#include "backend/arrays/hybrid_runs.h"
#include "backend/core/status.h"

namespace arrow::io {
class RandomAccessFile;
}  // namespace arrow::io
namespace arrow {
class ResizableBuffer;
}  // namespace arrow
namespace parquet {
class ColumnChunkMetaData;
}  // namespace parquet

namespace millrace::pages {

/// Page types and encodings have the numbers of parquet.thrift.
struct PageHeader {
    enum Type : std::int32_t { kData = 0, kIndex = 1, kDictionary = 2, kDataV2 = 3 };
    enum Encoding : std::int32_t {
        kPlain = 0,
        kPlainDictionary = 2,
        kRle = 3,
        kDeltaBinaryPacked = 5,
        kDeltaLengthByteArray = 6,
        kRleDictionary = 8
    };

    std::int32_t type = -1;
    std::int32_t bytes = 0;            ///< of the body, decompressed
    std::int32_t compressedBytes = 0;  ///< of the body, as it stands in the file
    std::int32_t numValues = 0, encoding = -1;
    std::int32_t definitionEncoding = kRle, repetitionEncoding = kRle;  ///< V1
    std::int32_t numRows = -1;                                          ///< V2; -1: not said
    std::int32_t definitionBytes = 0, repetitionBytes = 0;              ///< V2
    bool isCompressed = true;                                           ///< V2: the values
    bool hasCrc = false;
    std::int32_t crc = 0;  ///< CRC-32 of the body as it stands in the file
};

/// A header at the begin of `bytes`; its length, 0 when the bytes end within it, or -1 when it is
/// none.
std::int64_t parsePageHeader(arrays::ByteSpan bytes, PageHeader& header);

class PageStream {
 public:
    explicit PageStream(arrow::MemoryPool* pool);
    ~PageStream();

    /// False: the chunk is encrypted or of a codec that is not here.
    Result<bool> open(arrow::io::RandomAccessFile& file, const parquet::ColumnChunkMetaData& chunk);
    /// Read from files so far, of all chunks.
    std::int64_t bytesRead() const { return bytesRead_; }
    /// Gives the memory back to the pool, which keeps it for the next chunk.
    void close();
    /// The next page's header; false at the end. A body that was not asked for is passed over.
    Result<bool> next(PageHeader& header);
    /// Where the next header is read, in the file.
    std::int64_t position() const { return at_ - (filled_ - from_) + bodyLeft_; }
    /// The next header is read at `offset` of the file, within the chunk; nothing is read ahead
    /// that lies behind `aheadEnd`.
    void seek(std::int64_t offset, std::int64_t aheadEnd);
    /// The body of the page. Valid until the next call of body() or dictionary().
    Result<arrays::ByteSpan> body();
    /// The same into memory that stays until the next chunk's, aligned to 64 bytes.
    Result<arrays::ByteSpan> dictionary();

 private:
    struct Zstd;
    Status fill(std::int64_t bytes);
    Result<arrays::ByteSpan> bodyInto(std::shared_ptr<arrow::ResizableBuffer>& memory);
    Status decompress(arrays::ByteSpan from, std::uint8_t* to, std::int64_t bytes);

    arrow::MemoryPool* const pool_;
    arrow::io::RandomAccessFile* file_ = nullptr;
    std::int64_t at_ = 0, end_ = 0;  ///< in the file: behind what window_ holds, and of the chunk
    std::int64_t aheadEnd_ = 0;      ///< in the file: what lies behind is not read ahead
    std::int64_t bytesRead_ = 0;
    std::int64_t mostBytes_ = 0;  ///< of a page's body, by the footer
    std::shared_ptr<arrow::ResizableBuffer> window_, page_, dictionary_;
    std::int64_t from_ = 0, filled_ = 0;  ///< unread bytes of window_
    PageHeader header_;
    std::int64_t pageAt_ = 0;    ///< of the current page's header, in the file
    std::int64_t bodyLeft_ = 0;  ///< of the current page, not yet passed
    std::int32_t codecOf_ = -1;
    std::unique_ptr<arrow::util::Codec> codec_;
    std::unique_ptr<Zstd> zstd_;
};

}  // namespace millrace::pages

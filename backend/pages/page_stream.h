#pragma once
// Iterates over the pages of one column chunk; decompresses a body only on request.
//
// Reads the file in pieces of a few MB, decompresses into reused memory, and keeps one decompressor
// for all pages (one per page would cost a twentieth of a scan).
// Format: https://parquet.apache.org/docs/file-format/data-pages/ ; page headers are Thrift,
// compact protocol (https://github.com/apache/thrift/blob/master/doc/specs).
// Threads: one. Failure: kDataLoss, without a position, for bytes that contradict the format;
// Arrow's errors for reading the file. A header cannot cause an allocation beyond the chunk's size
// in the footer. A requested body is verified against its checksum if the header has one.
#include <cstdint>
#include <memory>

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>
#include <arrow/util/type_fwd.h>

#include "backend/arrays/hybrid_runs.h"
#include "backend/core/status.h"

namespace parquet {
class ColumnChunkMetaData;
}  // namespace parquet

namespace millrace::pages {

/// Page types and encodings are numbered as in parquet.thrift.
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
    std::int32_t compressedBytes = 0;  ///< of the body, in the file
    std::int32_t numValues = 0, encoding = -1;
    std::int32_t definitionEncoding = kRle, repetitionEncoding = kRle;  ///< V1
    std::int32_t numRows = -1;                                          ///< V2; -1: unknown
    std::int32_t definitionBytes = 0, repetitionBytes = 0;              ///< V2
    bool isCompressed = true;                                           ///< V2: the values
    bool hasCrc = false;
    std::int32_t crc = 0;  ///< CRC-32 of the body as stored in the file
};

/// Parses a header at the start of `bytes`. Returns its length, 0 if the bytes end within it, or -1
/// if they are not a header.
std::int64_t parsePageHeader(arrays::ByteSpan bytes, PageHeader& header);

class PageStream {
 public:
    explicit PageStream(arrow::MemoryPool* pool);
    ~PageStream();

    /// Returns false if the chunk is encrypted or its codec is not available.
    Result<bool> open(arrow::io::RandomAccessFile& file, const parquet::ColumnChunkMetaData& chunk);
    /// Bytes read from files so far, for all chunks.
    std::int64_t bytesRead() const { return bytesRead_; }
    /// Returns the memory to the pool, which keeps it for the next chunk.
    void close();
    /// Reads the next page's header; false at the end. Skips a body that was not requested.
    Result<bool> next(PageHeader& header);
    /// Position of the next header in the file.
    std::int64_t position() const { return at_ - (filled_ - from_) + bodyLeft_; }
    /// Moves to a header at `offset` of the file, within the chunk; does not read ahead past
    /// `aheadEnd`.
    void seek(std::int64_t offset, std::int64_t aheadEnd);
    /// The body of the current page. Valid until the next call of body() or dictionary().
    Result<arrays::ByteSpan> body() { return bodyInto(page_); }
    /// Like body(), in memory that stays valid until the next chunk's dictionary, aligned to 64
    /// bytes.
    Result<arrays::ByteSpan> dictionary() { return bodyInto(dictionary_); }

 private:
    struct Zstd;
    Status fill(std::int64_t bytes);
    Result<arrays::ByteSpan> bodyInto(std::shared_ptr<arrow::ResizableBuffer>& memory);
    Status decompress(arrays::ByteSpan from, std::uint8_t* to, std::int64_t bytes);

    arrow::MemoryPool* const pool_;
    arrow::io::RandomAccessFile* file_ = nullptr;
    std::int64_t at_ = 0, end_ = 0;  ///< in the file: end of window_'s content; end of the chunk
    std::int64_t aheadEnd_ = 0;      ///< in the file: limit for reading ahead
    std::int64_t bytesRead_ = 0;
    std::int64_t mostBytes_ = 0;  ///< limit of a page's body, from the footer
    std::shared_ptr<arrow::ResizableBuffer> window_, page_, dictionary_;
    std::int64_t from_ = 0, filled_ = 0;  ///< bounds of the unread bytes in window_
    PageHeader header_;
    std::int64_t pageAt_ = 0;    ///< position of the current page's header in the file
    std::int64_t bodyLeft_ = 0;  ///< bytes of the current page not yet consumed
    std::int32_t codecOf_ = -1;
    std::unique_ptr<arrow::util::Codec> codec_;
    std::unique_ptr<Zstd> zstd_;
};

}  // namespace millrace::pages

#pragma once
// Decodes Parquet pages of the columns that training data mostly has, straight into an Arrow
// array's buffers; other columns are left to Arrow's own reader.
//
// Supports numbers, bools, dates, times and texts, and lists of numbers of 4 and 8 bytes, alone or
// in structs. Encodings: plain and dictionary, for integers also packed differences, for texts also
// texts after their lengths. Data pages: V1 and V2. Lists' offsets come from the zero bits of the
// repetition levels. If every definition level is the highest (no null, no empty list), the levels
// are checked and skipped. For everything else (nulls inside lists, other encodings and types,
// nesting, encryption) the result is null. Values, nulls and offsets equal Arrow's
// (tests/unit/pages/page_decoder_test.cpp).
// Threads: one at a time; buffers are kept between calls. Failure: kDataLoss, without a position,
// for bytes that contradict the format; throws what libparquet throws, and std::bad_alloc if the
// pool is exhausted.
#include <cstdint>
#include <memory>
#include <span>

#include <arrow/type_fwd.h>

#include "backend/arrays/hybrid_runs.h"
#include "backend/arrays/pool_vector.h"
#include "backend/core/status.h"
#include "backend/pages/list_target.h"
#include "backend/pages/page_index.h"
#include "backend/pages/page_stream.h"
#include "backend/pages/row_selection.h"

namespace parquet {
class ColumnDescriptor;
class ColumnChunkMetaData;
}  // namespace parquet

namespace millrace::pages {

/// Rows [begin, begin + rows) of a row group with `groupRows` rows.
struct RowStretch {
    std::int64_t begin = 0, rows = 0, groupRows = 0;
};

class PageDecoder {
 public:
    explicit PageDecoder(arrow::MemoryPool* pool);

    /// Reads the wanted rows of a stretch from a chunk of `column`, as type `pinned`. Returns null
    /// if this decoder does not support the column.
    /// - Lists come as dictionary<int32, list> if repeats may be stored once and there are some.
    /// - Texts come as dictionary<int32, utf8> if they may be coded and the chunk begins with a
    ///   dictionary of at most as many texts as rows are wanted.
    /// - Numbers come so if the dictionary is small and all pages use it.
    /// Pages without a wanted row are not decompressed if their header has the number of rows (flat
    /// columns, and V2). They are not even read if `places` (of all the chunk's pages; may be
    /// empty) has their positions. `places` that do not fit the pages are ignored.
    Result<std::shared_ptr<arrow::Array>> readChunk(arrow::io::RandomAccessFile& file,
                                                    const parquet::ColumnDescriptor& column,
                                                    const parquet::ColumnChunkMetaData& chunk,
                                                    const std::shared_ptr<arrow::DataType>& pinned,
                                                    const RowStretch& stretch,
                                                    const RowSelection& selection,
                                                    std::span<const PagePlace> places = {});
    /// Bytes read from files so far.
    std::int64_t bytesRead() const { return pages_.bytesRead(); }
    /// Returns its buffers to the pool.
    void release();

 private:
    struct Shape;
    struct Target;
    struct PageLevels {
        arrays::ByteSpan repetition, definition;
    };
    static bool shapeOf(const parquet::ColumnDescriptor& column, const arrow::DataType& pinned,
                        Shape& shape);
    Result<std::shared_ptr<arrow::Array>> readChunkBy(
        std::span<const PagePlace> places, arrow::io::RandomAccessFile& file,
        const parquet::ColumnChunkMetaData& chunk, const Shape& shape,
        const std::shared_ptr<arrow::DataType>& pinned, const RowStretch& stretch,
        const RowSelection& selection);
    Status allocate(const Shape& shape, const RowSelection& selection, const RowStretch& stretch,
                    std::int64_t levels, Target& target);
    /// False: this decoder does not support it.
    Result<bool> readPages(const Shape& shape, Target& target);
    Result<bool> readPlaces(std::span<const PagePlace> places, const Shape& shape, Target& target);
    static Status countLevels(const PageHeader& page, Target& target);
    Result<bool> readPage(const PageHeader& page, const Shape& shape, Target& target);
    Status readDictionary(const PageHeader& page, const Shape& shape);
    bool toWords(const Shape& shape, std::int64_t count, arrays::ByteSpan& page);
    Result<std::shared_ptr<arrow::Array>> finishFlat(const Shape& shape,
                                                     const std::shared_ptr<arrow::DataType>& pinned,
                                                     Target& target);
    template <class T>
    bool readFlat(const Shape& shape, arrays::ByteSpan levels, PageValues& values,
                  std::int64_t count, Target& target, T* out);
    Status allocateWords(const Shape& shape, Target& target);
    Status allocateNumbers(const Shape& shape, bool isDictionary, Target& target);
    Result<bool> readNumbers(const Shape& shape, arrays::ByteSpan levels, PageValues& values,
                             std::int64_t count, Target& target);
    Status allocateTexts(const Shape& shape, bool isDictionary, Target& target);
    Result<bool> readTexts(const Shape& shape, arrays::ByteSpan levels, PageValues& values,
                           std::int64_t count, arrays::ByteSpan page, Target& target);
    bool bitmapOfDeep(const Shape& shape, arrays::ByteSpan levels, std::int64_t count,
                      std::int64_t& present);
    template <class T>
    bool readNullable(PageValues& values, std::int64_t count, std::int64_t present, Target& target,
                      T* out);
    template <class T>
    bool pickNullable(PageValues& values, std::span<const std::int64_t> places,
                      std::int64_t present, std::int64_t written, Target& target, T* out);
    Result<bool> readList(const PageHeader& page, const Shape& shape, PageLevels levels,
                          PageValues& values, Target& target);
    Result<bool> walkLevels(const Shape& shape, arrays::ByteSpan repetition,
                            arrays::ByteSpan definition, std::int64_t count);

    arrow::MemoryPool* const pool_;
    PageStream pages_;
    PageDictionary dictionary_;
    arrays::PoolVector<std::uint64_t> dictionaryWords_,
        pageWords_;                                 ///< of texts; of texts and bools
    arrays::PoolVector<std::uint64_t> plainTexts_;  ///< of a plain page in a coded chunk
    arrays::ByteSpan dictionaryBytes_;
    PageRows pageRows_;
    arrays::PoolVector<std::uint32_t> repetition_, definition_;
    arrays::PoolVector<std::uint64_t> valid_, dense_;
    arrays::PoolVector<std::int64_t> picks_;
};

}  // namespace millrace::pages

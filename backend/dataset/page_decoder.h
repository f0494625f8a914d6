#pragma once
// Decodes the pages of the columns that training data mostly has, straight into an Arrow array's
// buffers: numbers of 4 and 8 bytes, flat or in lists, plain or dictionary-encoded, data pages V1.
//
// Lists' offsets come from the zero bits of the repetition levels; where every definition level is
// the greatest (no null, no empty list) they are checked and skipped. Whatever else a file may hold
// (nulls inside of lists, V2 pages, other encodings and types, nesting, encryption) is left to
// Arrow's own reader: the answer is then null. Values, nulls and offsets equal Arrow's
// (tests/unit/dataset/page_decoder_test.cpp).
// Threads: one at a time; buffers between calls are kept. Failure: kDataLoss without a place for
// bytes that contradict the format; throws what libparquet throws.
#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/dataset/hybrid_runs.h"

namespace parquet {
class ColumnDescriptor;
class DataPageV1;
class PageReader;
class RowGroupReader;
}  // namespace parquet

namespace millrace::dataset {

class PageDecoder {
 public:
    explicit PageDecoder(arrow::MemoryPool* pool) : pool_(pool) {}

    /// The column chunk `leaf` of a row group of `rows` rows, of type `pinned`; null when the
    /// column is not of a kind that this reads.
    Result<std::shared_ptr<arrow::Array>> readChunk(parquet::RowGroupReader& group, int leaf,
                                                    const std::shared_ptr<arrow::DataType>& pinned,
                                                    std::int64_t rows);

 private:
    struct Shape;
    struct Target;
    static bool shapeOf(const parquet::ColumnDescriptor& column, const arrow::DataType& pinned,
                        Shape& shape);
    Result<Target> allocate(const Shape& shape, std::int64_t rows, std::int64_t levels);
    /// False: not for this decoder.
    Result<bool> readPages(parquet::PageReader& pages, const Shape& shape, Target& target);
    Result<bool> readPage(const parquet::DataPageV1& page, const Shape& shape, Target& target);
    Status readFlat(const Shape& shape, int encoding, ByteSpan levels, ByteSpan values,
                    std::int64_t count, Target& target);
    Result<bool> readList(const Shape& shape, int encoding, ByteSpan repetition,
                          ByteSpan definition, ByteSpan values, std::int64_t count, Target& target);
    Status startRows(ByteSpan repetition, std::int64_t count, Target& target);
    Result<bool> walkLevels(const Shape& shape, ByteSpan repetition, ByteSpan definition,
                            std::int64_t count, Target& target, std::int64_t& present);
    Status readValues(const Shape& shape, int encoding, ByteSpan values, std::int64_t count,
                      std::uint8_t* out);
    template <class T>
    Status readValuesOf(int encoding, ByteSpan values, std::int64_t count, T* out);

    arrow::MemoryPool* const pool_;
    std::vector<std::uint64_t> dictionary_;
    std::int64_t dictionarySize_ = -1;  ///< values; -1: none yet
    std::vector<std::uint32_t> repetition_, definition_;
    std::vector<std::uint64_t> valid_;
    std::vector<std::uint8_t> dense_;
};

}  // namespace millrace::dataset

#pragma once
// The values of a column chunk, page by page: plain, or as indices into a dictionary. Private to
// table.
//
// take() gathers the non-null values of the next page; the other calls use those values. index()
// grows the dictionary and gives it up if it gets larger than a page, or has an entry for more than
// half of the rows: it would be a second copy of the values.
// Threads: one owner. Failure: out of memory.
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <arrow/buffer_builder.h>
#include <arrow/util/bit_util.h>
#include <parquet/encoding.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>

#include "backend/core/status.h"
#include "backend/table/column_pieces.h"

namespace millrace::table {

/// Maps keys to indices by open addressing over (hash, index); the caller compares keys.
class IndexTable {
 public:
    IndexTable() : slots_(1024, kFree) {}
    std::size_t size() const { return hashes_.size(); }
    /// Returns the index of the key. A new key gets a new index: size() has grown then.
    template <class IsSame>
    std::uint32_t find(std::uint64_t hash, const IsSame& isSame) {
        if (hashes_.size() * 2 >= slots_.size()) {
            grow();
        }
        std::size_t slot = hash & (slots_.size() - 1);
        for (; slots_[slot] != kFree; slot = (slot + 1) & (slots_.size() - 1)) {
            const std::uint32_t index = slots_[slot];
            if (hashes_[index] == hash && isSame(index)) {
                return index;
            }
        }
        slots_[slot] = static_cast<std::uint32_t>(hashes_.size());
        hashes_.push_back(hash);
        return slots_[slot];
    }

 private:
    static constexpr std::uint32_t kFree = ~std::uint32_t{0};
    void grow();
    std::vector<std::uint32_t> slots_;
    std::vector<std::uint64_t> hashes_;
};

/// Values of a physical type of 4 or 8 bytes.
template <class DType>
class NumberValues {
 public:
    using T = typename DType::c_type;
    NumberValues(const ColumnPieces& pieces, const parquet::ColumnDescriptor& column,
                 const parquet::WriterProperties& properties);

    /// Returns the number of rows in the page, at most `most`.
    std::int64_t take(std::int64_t row, std::int64_t most);
    std::size_t size() const { return values_.size(); }
    /// Statistics of the page; also merges them into the chunk's.
    parquet::EncodedStatistics statistics(std::int64_t nulls);
    parquet::EncodedStatistics chunkStatistics() { return chunk_->Encode(); }
    /// Appends as PLAIN or, for integers, DELTA_BINARY_PACKED.
    Status append(parquet::Encoding::type encoding, arrow::BufferBuilder& out) const;
    /// Adds the page's indices; returns false if the dictionary was given up.
    bool index(std::vector<std::uint32_t>& indices);
    std::size_t entries() const { return table_.size(); }
    Status appendDictionary(arrow::BufferBuilder& out) const;
    void restart() { chunk_->Reset(); }

 private:
    void appendValid(const T* values, std::int64_t count, const std::uint8_t* valid,
                     std::int64_t firstBit);

    Status appendPacked(arrow::BufferBuilder& out) const;

    const ColumnPieces& pieces_;
    const std::size_t entriesMost_;
    const parquet::ColumnDescriptor& column_;
    std::shared_ptr<parquet::TypedStatistics<DType>> page_, chunk_;
    std::span<const T> values_;  ///< the page's values
    std::vector<T> gathered_, keys_;
    IndexTable table_;
};

class TextValues {
 public:
    TextValues(const ColumnPieces& pieces, const parquet::ColumnDescriptor& column,
               const parquet::WriterProperties& properties);

    std::int64_t take(std::int64_t row, std::int64_t most);
    std::size_t size() const { return views_.size(); }
    parquet::EncodedStatistics statistics(std::int64_t nulls);
    parquet::EncodedStatistics chunkStatistics() const { return encoded(chunk_); }
    /// Appends as PLAIN or DELTA_LENGTH_BYTE_ARRAY.
    Status append(parquet::Encoding::type encoding, arrow::BufferBuilder& out) const;
    bool index(std::vector<std::uint32_t>& indices);
    std::size_t entries() const { return table_.size(); }
    Status appendDictionary(arrow::BufferBuilder& out) const;
    void restart() { chunk_ = {}; }

 private:
    struct Bounds {
        std::string_view least, most;
        std::int64_t values = 0, nulls = 0;
    };
    static void widen(Bounds& bounds, const Bounds& by);
    static parquet::EncodedStatistics encoded(const Bounds& bounds);
    const ColumnPieces& pieces_;
    const std::size_t entriesMost_;
    const std::int64_t bytesMost_;
    Bounds chunk_;
    std::vector<std::string_view> views_, keys_;
    std::int64_t keyBytes_ = 0;
    IndexTable table_;
};

}  // namespace millrace::table

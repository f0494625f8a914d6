#include "backend/table/chunk_values.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>

#include "backend/arrays/arrow_bridge.h"
#include "backend/table/packed_deltas.h"
#include "backend/table/text_word.h"

namespace millrace::table {

namespace {

using arrays::fromArrow;

constexpr std::int64_t kLengthBytes = 4;

// Multiplicative hashing (Knuth, The Art of Computer Programming, volume 3, 6.4) by 2^64 / golden
// ratio. Its high bits are the best ones and IndexTable uses the low ones, so both are combined.
std::uint64_t mixed(std::uint64_t value) {
    value *= 0x9e3779b97f4a7c15U;
    return value ^ value >> 32;
}

template <class T>
// Dictionary entries are equal if their bits are: 0.0 and -0.0, and different NaNs, stay apart, and
// NaN equals itself. The file then returns the exact values.
std::uint64_t bitsOf(T value) {
    using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return std::bit_cast<Word>(value);
}

/// Appends each text's length and bytes, one text after another.
// PLAIN encoding of BYTE_ARRAY (Parquet's Encodings.md): lengths of four bytes, little-endian.
Status appendTexts(const std::vector<std::string_view>& texts, arrow::BufferBuilder& out) {
    std::int64_t bytes = 0;
    for (const std::string_view text : texts) {
        bytes += kLengthBytes + static_cast<std::int64_t>(text.size());
    }
    RETURN_IF_ERROR(fromArrow(out.Reserve(bytes), "parquet page"));
    std::uint8_t* at = out.mutable_data() + out.length();
    for (const std::string_view text : texts) {
        const auto size = static_cast<std::uint32_t>(text.size());
        std::memcpy(at, &size, sizeof size);
        copyText(at + kLengthBytes, text);
        at += kLengthBytes + size;
    }
    out.UnsafeAdvance(bytes);
    return okStatus();
}

/// Appends all lengths, then all bytes: the codec's input is not interrupted by a length per text.
// DELTA_LENGTH_BYTE_ARRAY (Parquet's Encodings.md).
Status appendBehindLengths(const std::vector<std::string_view>& texts, arrow::BufferBuilder& out) {
    std::vector<std::int32_t> lengths;
    lengths.reserve(texts.size());
    std::int64_t bytes = 0;
    for (const std::string_view text : texts) {
        lengths.push_back(static_cast<std::int32_t>(text.size()));
        bytes += lengths.back();
    }
    RETURN_IF_ERROR(appendDeltas(lengths, out));
    RETURN_IF_ERROR(fromArrow(out.Reserve(bytes), "parquet page"));
    std::uint8_t* at = out.mutable_data() + out.length();
    for (const std::string_view text : texts) {
        copyText(at, text);
        at += text.size();
    }
    out.UnsafeAdvance(bytes);
    return okStatus();
}

}  // namespace

// Keys are distinct, so rehashing compares none.
void IndexTable::grow() {
    slots_.assign(slots_.size() * 2, kFree);
    for (std::uint32_t index = 0; index < hashes_.size(); ++index) {
        std::size_t slot = hashes_[index] & (slots_.size() - 1);
        while (slots_[slot] != kFree) {
            slot = (slot + 1) & (slots_.size() - 1);
        }
        slots_[slot] = index;
    }
}

template <class DType>
NumberValues<DType>::NumberValues(const ColumnPieces& pieces,
                                  const parquet::ColumnDescriptor& column,
                                  const parquet::WriterProperties& properties)
    : pieces_(pieces),
      entriesMost_(
          std::min(static_cast<std::size_t>(pieces.rows() / 2),
                   static_cast<std::size_t>(properties.dictionary_pagesize_limit()) / sizeof(T))),
      column_(column),
      page_(parquet::MakeStatistics<DType>(&column)),
      chunk_(parquet::MakeStatistics<DType>(&column)) {}

template <class DType>
std::int64_t NumberValues<DType>::take(std::int64_t row, std::int64_t most) {
    const std::int64_t rows = std::min(most, pieces_.rows() - row);
    gathered_.clear();
    pieces_.each(row, rows, [&](const arrow::Array& array, std::int64_t from, std::int64_t n) {
        const T* const values = array.data()->GetValues<T>(1) + from;
        const std::uint8_t* const valid = array.null_bitmap_data();
        const bool hasNulls = valid != nullptr && array.null_count() > 0;
        if (!hasNulls && n == rows) {
            values_ = {values, static_cast<std::size_t>(n)};  // without a copy
            return false;
        }
        if (!hasNulls) {
            gathered_.insert(gathered_.end(), values, values + n);
        } else {
            appendValid(values, n, valid, array.offset() + from);
        }
        values_ = gathered_;
        return true;
    });
    return rows;
}

template <class DType>
void NumberValues<DType>::appendValid(const T* values, std::int64_t count,
                                      const std::uint8_t* valid, std::int64_t firstBit) {
    const std::size_t before = gathered_.size();
    gathered_.resize(before + static_cast<std::size_t>(count));
    T* out = gathered_.data() + before;
    for (std::int64_t i = 0; i < count; ++i) {
        // No branch per row: `out` never overtakes `i`, and stays inside the space for `count`
        // values.
        *out = values[i];  // a null is overwritten by the next value
        out += arrow::bit_util::GetBit(valid, firstBit + i) ? 1 : 0;
    }
    gathered_.resize(static_cast<std::size_t>(out - gathered_.data()));
}

template <class DType>
parquet::EncodedStatistics NumberValues<DType>::statistics(std::int64_t nulls) {
    page_->Reset();
    page_->Update(values_.data(), static_cast<std::int64_t>(values_.size()), nulls);
    chunk_->Merge(*page_);
    return page_->Encode();
}

template <class DType>
Status NumberValues<DType>::append(parquet::Encoding::type encoding,
                                   arrow::BufferBuilder& out) const {
    if (encoding == parquet::Encoding::DELTA_BINARY_PACKED) {
        return appendPacked(out);
    }
    return fromArrow(
        out.Append(values_.data(), static_cast<std::int64_t>(values_.size() * sizeof(T))),
        "parquet page");
}

template <class DType>
Status NumberValues<DType>::appendPacked(arrow::BufferBuilder& out) const {
    if constexpr (std::is_integral_v<T>) {
        return appendDeltas(values_, out);
    } else {
        return internalError("column '", column_.name(), "': only integers are packed");
    }
}

template <class DType>
bool NumberValues<DType>::index(std::vector<std::uint32_t>& indices) {
    for (const T value : values_) {
        const std::uint64_t bits = bitsOf(value);
        const std::uint32_t index = table_.find(
            mixed(bits), [&](std::uint32_t known) { return bitsOf(keys_[known]) == bits; });
        if (index == keys_.size()) {
            keys_.push_back(value);
            if (keys_.size() > entriesMost_) {
                return false;
            }
        }
        indices.push_back(index);
    }
    return true;
}

template <class DType>
Status NumberValues<DType>::appendDictionary(arrow::BufferBuilder& out) const {
    return fromArrow(out.Append(keys_.data(), static_cast<std::int64_t>(keys_.size() * sizeof(T))),
                     "parquet page");
}

template class NumberValues<parquet::Int32Type>;
template class NumberValues<parquet::Int64Type>;
template class NumberValues<parquet::FloatType>;
template class NumberValues<parquet::DoubleType>;

TextValues::TextValues(const ColumnPieces& pieces, const parquet::ColumnDescriptor&,
                       const parquet::WriterProperties& properties)
    : pieces_(pieces),
      entriesMost_(static_cast<std::size_t>(pieces.rows() / 2)),
      bytesMost_(std::min(properties.data_pagesize(), properties.dictionary_pagesize_limit())) {}

std::int64_t TextValues::take(std::int64_t row, std::int64_t most) {
    views_.clear();
    std::int64_t rows = 0, bytes = 0;
    const std::int64_t rowsMost = std::min(most, pieces_.rows() - row);
    pieces_.each(row, rowsMost, [&](const arrow::Array& array, std::int64_t from, std::int64_t n) {
        const auto& texts = static_cast<const arrow::BinaryArray&>(array);
        const bool hasNulls = array.null_count() > 0;
        // A page ends behind the text that reaches its size: it holds at least one text, however
        // long.
        for (std::int64_t i = from; i < from + n && bytes < bytesMost_; ++i, ++rows) {
            if (!hasNulls || texts.IsValid(i)) {
                views_.push_back(texts.GetView(i));
                bytes += kLengthBytes + static_cast<std::int64_t>(views_.back().size());
            }
        }
        return bytes < bytesMost_;
    });
    return rows;
}

void TextValues::widen(Bounds& bounds, const Bounds& by) {
    if (by.values > 0) {
        const bool isFirst = bounds.values == 0;
        bounds.least = isFirst ? by.least : std::min(bounds.least, by.least);
        bounds.most = isFirst ? by.most : std::max(bounds.most, by.most);
    }
    bounds.values += by.values;
    bounds.nulls += by.nulls;
}

parquet::EncodedStatistics TextValues::encoded(const Bounds& bounds) {
    parquet::EncodedStatistics statistics;
    if (bounds.values > 0) {
        statistics.set_min(std::string(bounds.least)).set_max(std::string(bounds.most));
        statistics.is_min_value_exact = statistics.is_max_value_exact = true;
    }
    statistics.set_null_count(bounds.nulls);
    statistics.all_null_value = bounds.values == 0;
    return statistics;
}

parquet::EncodedStatistics TextValues::statistics(std::int64_t nulls) {
    Bounds page;
    page.nulls = nulls;
    page.values = static_cast<std::int64_t>(views_.size());
    if (!views_.empty()) {
        page.least = page.most = views_.front();
    }
    // Bounds are in the order of unsigned bytes, as Parquet requires for UTF8. Most comparisons end
    // with the first eight bytes; equal words decide nothing, because a word is padded with zeros.
    std::uint64_t least = firstWord(page.least), most = least;
    for (const std::string_view text : views_) {
        const std::uint64_t word = firstWord(text);
        if (word <= least && (word < least || text < page.least)) {
            least = word;
            page.least = text;
        }
        if (word >= most && (word > most || page.most < text)) {
            most = word;
            page.most = text;
        }
    }
    widen(chunk_, page);
    return encoded(page);
}

Status TextValues::append(parquet::Encoding::type encoding, arrow::BufferBuilder& out) const {
    return encoding == parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY ? appendBehindLengths(views_, out)
                                                                  : appendTexts(views_, out);
}

bool TextValues::index(std::vector<std::uint32_t>& indices) {
    for (const std::string_view text : views_) {
        const std::uint32_t index =
            // Keys are views of the row group's batches, which outlive the chunk.
            table_.find(hashOf(text), [&](std::uint32_t known) { return keys_[known] == text; });
        if (index == keys_.size()) {
            keys_.push_back(text);
            keyBytes_ += kLengthBytes + static_cast<std::int64_t>(text.size());
            if (keys_.size() > entriesMost_ || keyBytes_ > bytesMost_) {
                return false;
            }
        }
        indices.push_back(index);
    }
    return true;
}

Status TextValues::appendDictionary(arrow::BufferBuilder& out) const {
    return appendTexts(keys_, out);
}

}  // namespace millrace::table

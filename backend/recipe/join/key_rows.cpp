#include "backend/recipe/join/key_rows.h"

#include <algorithm>
#include <limits>

#define XXH_INLINE_ALL  // for a dozen bytes per key a call would cost more than the hash
#include <xxhash.h>

#include "backend/core/parallel.h"
#include "backend/recipe/text_rows.h"

namespace millrace::recipe {

std::uint64_t hashOfKey(std::string_view bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

TextViews::TextViews(const arrow::StringArray& texts, const arrow::Int32Array* numbers)
    : data_(reinterpret_cast<const char*>(texts.raw_data())),
      offsets_(texts.raw_value_offsets()),
      texts_(texts),
      rows_(numbers == nullptr ? static_cast<const arrow::Array&>(texts) : *numbers),
      numbers_(numbers == nullptr ? nullptr : numbers->raw_values()),
      hasNulls_(rows_.null_count() > 0 || texts.null_count() > 0) {}

void TextViews::load(std::int64_t from, std::size_t n, std::array<bool, kKeyBlock>& isKey) {
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t row = from + static_cast<std::int64_t>(i);
        isKey[i] = !hasNulls_ || rows_.IsValid(row);
        views_[i] = {};
        if (!isKey[i]) {
            continue;
        }
        const std::int64_t at = numbers_ == nullptr ? row : numbers_[row];
        isKey[i] = !hasNulls_ || texts_.IsValid(at);
        views_[i] = {data_ + offsets_[at],
                     static_cast<std::size_t>(offsets_[at + 1] - offsets_[at])};
    }
}

void TextRows::load(std::int64_t from, std::size_t n, KeyBlock<>& block) {
    views_.load(from, n, block.isKey);
    for (std::size_t i = 0; i < n; ++i) {
        block.keys[i] = XXH3_64bits(views_.of(i).data(), views_.of(i).size());
    }
}

std::optional<ShortForm> ShortForm::of(const arrow::StringArray& texts, int threads) {
    constexpr std::int64_t kPieceRows = std::int64_t{1} << 18;
    struct Sizes {
        std::int32_t least = std::numeric_limits<std::int32_t>::max(), most = 0;
    };
    const std::int32_t* const offsets = texts.raw_value_offsets();
    const bool hasNulls = texts.null_count() > 0;
    const std::int64_t rows = texts.length();
    std::vector<Sizes> pieces(static_cast<std::size_t>((rows + kPieceRows - 1) / kPieceRows));
    (void)parallelFor(pieces.size(), threads, "table", [&](std::size_t i) {
        Sizes sizes;
        const std::int64_t from = static_cast<std::int64_t>(i) * kPieceRows;
        for (std::int64_t row = from, end = std::min(rows, from + kPieceRows); row < end; ++row) {
            if (!hasNulls || texts.IsValid(row)) {
                sizes.least = std::min(sizes.least, offsets[row + 1] - offsets[row]);
                sizes.most = std::max(sizes.most, offsets[row + 1] - offsets[row]);
            }
        }
        pieces[i] = sizes;
        return okStatus();
    });
    Sizes all;
    for (const Sizes& piece : pieces) {
        all = {std::min(all.least, piece.least), std::max(all.most, piece.most)};
    }
    const auto most = static_cast<std::size_t>(all.most);
    if (most > kMost || (all.least < all.most && most == kMost)) {
        return std::nullopt;
    }
    return ShortForm{all.least == all.most ? most : kAnyWidth};
}

Result<TupleRows> TupleRows::of(const std::vector<std::shared_ptr<arrow::Array>>& columns,
                                const StoredKeys* stored) {
    TupleRows rows;
    rows.stored_ = stored;
    for (const auto& column : columns) {
        ASSIGN_OR_RETURN(const eval::ValueReader reader, eval::ValueReader::of(*column));
        rows.readers_.push_back(reader);
    }
    return rows;
}

void TupleRows::load(std::int64_t from, std::size_t n, KeyBlock<>& block) {
    bytes_.clear();
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t row = from + static_cast<std::int64_t>(i);
        block.isKey[i] = std::ranges::none_of(
            readers_, [row](const eval::ValueReader& reader) { return reader.isNull(row); });
        for (const eval::ValueReader& reader : readers_) {
            if (block.isKey[i]) {
                reader.append(row, bytes_);
            }
        }
        ends_[i] = bytes_.bytes().size();
    }
    for (std::size_t i = 0; i < n; ++i) {
        block.keys[i] = hashOfKey(bytes(i));
    }
}

}  // namespace millrace::recipe

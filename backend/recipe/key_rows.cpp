#include "backend/recipe/key_rows.h"

#define XXH_INLINE_ALL  // a dozen bytes a key: the call would cost more than the hash
#include <xxhash.h>

namespace millrace::recipe {

std::uint64_t hashOfKey(std::string_view bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

void TextRows::load(std::int64_t from, std::size_t n, KeyBlock& block) {
    const bool hasNulls =
        rows_.null_count() > 0 || (numbers_ != nullptr && texts_.null_count() > 0);
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t row = from + static_cast<std::int64_t>(i);
        block.isKey[i] = !hasNulls || rows_.IsValid(row);
        if (!block.isKey[i]) {
            block.keys[i] = 0;
            continue;
        }
        const std::int64_t at = numbers_ == nullptr ? row : numbers_[row];
        block.isKey[i] = !hasNulls || texts_.IsValid(at);
        views_[i] = texts_.GetView(at);
        block.keys[i] = XXH3_64bits(views_[i].data(), views_[i].size());
    }
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

void TupleRows::load(std::int64_t from, std::size_t n, KeyBlock& block) {
    bytes_.clear();
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t row = from + static_cast<std::int64_t>(i);
        block.isKey[i] =
            std::none_of(readers_.begin(), readers_.end(),
                         [row](const eval::ValueReader& reader) { return reader.isNull(row); });
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

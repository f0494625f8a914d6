#pragma once
// Keys of rows in the form that KeyBuckets takes: integers and tuples (texts: text_rows.h). Private
// to recipe.
//
// Threads: one each.
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>

#include "backend/core/philox.h"
#include "backend/core/status.h"
#include "backend/eval/value_reader.h"
#include "backend/recipe/join/key_buckets.h"

namespace millrace::recipe {

std::uint64_t hashOfKey(std::string_view bytes);

/// memcmp() == 0, fast for the few bytes of a key.
inline bool isSameBytes(const char* a, const char* b, std::size_t n) {
    const auto differs = [&]<class Word>(std::size_t at, Word) {
        Word x, y;
        std::memcpy(&x, a + at, sizeof x);
        std::memcpy(&y, b + at, sizeof y);
        return x != y;
    };
    if (n > 32) {
        return std::memcmp(a, b, n) == 0;
    }
    if (n >= 8) {
        for (std::size_t at = 0; at + 8 < n; at += 8) {
            if (differs(at, std::uint64_t{})) {
                return false;
            }
        }
        return !differs(n - 8, std::uint64_t{});
    }
    if (n >= 4) {
        return !differs(0, std::uint32_t{}) && !differs(n - 4, std::uint32_t{});
    }
    for (std::size_t at = 0; at < n; ++at) {
        if (a[at] != b[at]) {
            return false;
        }
    }
    return true;
}

/// The stored bytes of a table's keys, by row.
class StoredKeys {
 public:
    explicit StoredKeys(const arrow::StringArray& texts)
        : data_(reinterpret_cast<const char*>(texts.raw_data())),
          offsets_(texts.raw_value_offsets()) {}
    StoredKeys(const std::vector<char>& arena, const std::vector<std::uint64_t>& ends)
        : data_(arena.data()), ends_(ends.data()) {}

    std::string_view of(std::uint32_t row) const {
        const std::uint64_t from = begin(row);
        const std::uint64_t to =
            offsets_ != nullptr ? static_cast<std::uint64_t>(offsets_[row + 1]) : ends_[row];
        return {data_ + from, static_cast<std::size_t>(to - from)};
    }
    bool isEqual(std::uint32_t row, std::string_view key) const {
        const std::string_view stored = of(row);
        return stored.size() == key.size() && isSameBytes(stored.data(), key.data(), key.size());
    }
    /// Prefetches the position of a row's bytes; for kNoRow prefetches an arbitrary one.
    void ask(std::uint32_t row) const {
        const std::size_t at = row == kNoRow ? 0 : row;
        __builtin_prefetch(offsets_ != nullptr ? static_cast<const void*>(offsets_ + at)
                                               : static_cast<const void*>(ends_ + at));
    }
    void fetch(std::uint32_t row) const {
        __builtin_prefetch(data_ + begin(row == kNoRow ? 0 : row));
    }

 private:
    std::uint64_t begin(std::uint32_t row) const {
        return offsets_ != nullptr ? static_cast<std::uint64_t>(offsets_[row])
               : row == 0          ? 0
                                   : ends_[row - 1];
    }
    const char* data_;
    const std::int32_t* offsets_ = nullptr;
    const std::uint64_t* ends_ = nullptr;
};

template <class Value>
class IntegerRows {
 public:
    static constexpr bool kIsExact = true;
    IntegerRows(const Value* values, const arrow::Array& array)
        : values_(values), array_(array), hasNulls_(array.null_count() > 0) {}

    std::int64_t size() const { return array_.length(); }
    std::uint64_t of(std::int64_t row) const {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(values_[row]));
    }
    bool isKey(std::int64_t row) const { return !hasNulls_ || array_.IsValid(row); }
    void load(std::int64_t from, std::size_t n, KeyBlock<>& block) const {
        for (std::size_t i = 0; i < n; ++i) {
            block.keys[i] = of(from + static_cast<std::int64_t>(i));
            block.isKey[i] = true;
        }
        for (std::size_t i = 0; hasNulls_ && i < n; ++i) {
            block.isKey[i] = isKey(from + static_cast<std::int64_t>(i));
        }
    }
    void ask(std::uint32_t) const {}

 private:
    const Value* values_;
    const arrow::Array& array_;
    const bool hasNulls_;
};

/// Calls `use(IntegerRows)` for a column of integers, bools, dates or timestamps.
template <class Use>
auto withIntegers(const arrow::Array& keys, Use use) {
    using arrow::Type;
    const auto of = [&]<class Array>(const Array& typed) {
        return use(IntegerRows(typed.raw_values(), keys));
    };
    switch (keys.type_id()) {
        case Type::INT8:
            return of(static_cast<const arrow::Int8Array&>(keys));
        case Type::INT16:
            return of(static_cast<const arrow::Int16Array&>(keys));
        case Type::INT32:
            return of(static_cast<const arrow::Int32Array&>(keys));
        case Type::UINT8:
            return of(static_cast<const arrow::UInt8Array&>(keys));
        case Type::UINT16:
            return of(static_cast<const arrow::UInt16Array&>(keys));
        case Type::UINT32:
            return of(static_cast<const arrow::UInt32Array&>(keys));
        case Type::UINT64:
            return of(static_cast<const arrow::UInt64Array&>(keys));
        case Type::DATE32:
            return of(static_cast<const arrow::Date32Array&>(keys));
        case Type::BOOL: {
            std::vector<std::int8_t> values(static_cast<std::size_t>(keys.length()));
            for (std::size_t i = 0; i < values.size(); ++i) {
                values[i] = static_cast<const arrow::BooleanArray&>(keys).Value(
                    static_cast<std::int64_t>(i));
            }
            return use(IntegerRows(values.data(), keys));
        }
        default:  // including timestamps
            return of(static_cast<const arrow::Int64Array&>(keys));
    }
}

/// Several columns' values, or values of a type without a form of its own, as canonical bytes.
class TupleRows {
 public:
    static constexpr bool kIsExact = false;
    static Result<TupleRows> of(const std::vector<std::shared_ptr<arrow::Array>>& columns,
                                const StoredKeys* stored = nullptr);

    void load(std::int64_t from, std::size_t n, KeyBlock<>& block);
    /// The bytes of key i of the last block; empty if a part is null.
    std::string_view bytes(std::size_t i) const {
        const std::size_t from = i == 0 ? 0 : ends_[i - 1];
        return {reinterpret_cast<const char*>(bytes_.bytes().data()) + from, ends_[i] - from};
    }
    bool isEqual(std::size_t i, std::uint32_t row) const { return stored_->isEqual(row, bytes(i)); }
    void ask(std::uint32_t row) const { stored_->ask(row); }
    void fetch(std::uint32_t row) const { stored_->fetch(row); }

 private:
    std::vector<eval::ValueReader> readers_;
    const StoredKeys* stored_ = nullptr;
    CanonicalBytes bytes_;
    std::array<std::size_t, kKeyBlock> ends_{};
};

}  // namespace millrace::recipe

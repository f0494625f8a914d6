#include "backend/table/sort_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/parallel.h"

namespace millrace::table {

namespace {

using arrays::fromArrow;
using ArrayPtr = std::shared_ptr<arrow::Array>;
using arrow::Type;

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
constexpr std::size_t kFewRows = 256;  // are compared
constexpr std::size_t kPrefixBytes = 8;
constexpr std::size_t kComparedFrom = 64;  // texts with as many bytes in common are compared

/// A row and its key, or the first eight bytes of it, as two words: no byte is lost to alignment.
struct Item {
    std::uint32_t low = 0, high = 0, row = 0;

    std::uint64_t key() const { return std::uint64_t{high} << 32 | low; }
    std::uint32_t byte(int place) const {
        return (place < 4 ? low >> (8 * place) : high >> (8 * (place - 4))) & 0xff;
    }
};

Item itemOf(std::uint64_t key, std::uint32_t row) {
    return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32), row};
}

void sortByByte(std::span<const Item> from, int place, std::span<Item> to) {
    std::array<std::uint32_t, 256> starts{};
    for (const Item& item : from) {
        ++starts[item.byte(place)];
    }
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), std::uint32_t{0});
    for (const Item& item : from) {
        to[starts[item.byte(place)]++] = item;
    }
}

/// By key; equal ones stay as they stand. `other`: memory for as many.
void sortItems(std::span<Item> items, std::vector<Item>& other) {
    if (items.size() < kFewRows) {
        std::ranges::stable_sort(items, {}, &Item::key);
        return;
    }
    std::uint64_t any = 0, all = ~std::uint64_t{0};
    for (const Item& item : items) {
        any |= item.key();
        all &= item.key();
    }
    other.resize(std::max(other.size(), items.size()));
    std::span<Item> from = items, to = std::span(other).first(items.size());
    for (int place = 0; place < 8; ++place) {
        if ((((any ^ all) >> (8 * place)) & 0xff) != 0) {
            sortByByte(from, place, to);
            std::swap(from, to);
        }
    }
    if (from.data() != items.data()) {
        std::ranges::copy(from, items.begin());
    }
}

/// As sort_key.cpp orders them: -0 is 0, NaN is behind everything.
std::uint64_t keyOfDouble(double value) {
    if (std::isnan(value)) {
        return ~std::uint64_t{0};
    }
    const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
    return (bits >> 63) != 0 ? ~bits : bits | kSign;
}

template <class T>
std::uint64_t keyOfNumber(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        return keyOfDouble(value);
    } else if constexpr (std::is_signed_v<T>) {
        return static_cast<std::uint64_t>(std::int64_t{value}) ^ kSign;
    } else {
        return value;
    }
}

/// Calls `use(row -> key)` for a column whose values are numbers; false when they are none.
template <class T, class Use>
bool useNumbers(const arrow::Array& array, const Use& use) {
    const T* const values = array.data()->GetValues<T>(1);
    use([values](std::uint32_t row) { return keyOfNumber(values[row]); });
    return true;
}

template <class Use>
bool useKeys(const arrow::Array& array, const Use& use) {
    switch (array.type_id()) {
        case Type::BOOL: {
            const auto& bools = static_cast<const arrow::BooleanArray&>(array);
            use([&bools](std::uint32_t row) { return std::uint64_t{bools.Value(row) ? 1U : 0U}; });
            return true;
        }
        case Type::INT8:
            return useNumbers<std::int8_t>(array, use);
        case Type::INT16:
            return useNumbers<std::int16_t>(array, use);
        case Type::INT32:
        case Type::DATE32:
            return useNumbers<std::int32_t>(array, use);
        case Type::INT64:
        case Type::TIMESTAMP:
            return useNumbers<std::int64_t>(array, use);
        case Type::UINT8:
            return useNumbers<std::uint8_t>(array, use);
        case Type::UINT16:
            return useNumbers<std::uint16_t>(array, use);
        case Type::UINT32:
            return useNumbers<std::uint32_t>(array, use);
        case Type::UINT64:
            return useNumbers<std::uint64_t>(array, use);
        case Type::FLOAT:
            return useNumbers<float>(array, use);
        case Type::DOUBLE:
            return useNumbers<double>(array, use);
        default:
            return false;
    }
}

/// The first eight bytes of a text; behind its end are zeros.
std::uint64_t prefixOf(std::string_view text) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), std::min(text.size(), sizeof word));
    return __builtin_bswap64(word);
}

class RowOrder {
 public:
    explicit RowOrder(std::int64_t rows) : rows_(static_cast<std::size_t>(rows)) {
        std::iota(rows_.begin(), rows_.end(), 0U);
    }

    void sortBy(const arrow::Array& array) {
        const auto valid = static_cast<std::size_t>(setNullsBehind(array));
        const auto byKeys = [&](const auto& keyOf) { sortBy(keyOf, valid); };
        if (!useKeys(array, byKeys)) {
            array.type_id() == Type::STRING || array.type_id() == Type::BINARY
                ? sortByText(static_cast<const arrow::BinaryArray&>(array), valid)
                : sortByDecimal(static_cast<const arrow::FixedSizeBinaryArray&>(array), valid);
        }
    }
    std::vector<std::uint32_t> take() { return std::move(rows_); }

 private:
    /// How many rows have a value: these come first.
    std::int64_t setNullsBehind(const arrow::Array& array) {
        if (array.null_count() > 0) {
            std::ranges::stable_partition(
                rows_, [&array](std::uint32_t row) { return array.IsValid(row); });
        }
        return array.length() - array.null_count();
    }

    template <class KeyOf>
    void sortBy(const KeyOf& keyOf, std::size_t count) {
        items_.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            items_[i] = itemOf(keyOf(rows_[i]), rows_[i]);
        }
        sortItems(items_, other_);
        setRows();
    }

    void sortByText(const arrow::BinaryArray& texts, std::size_t count) {
        items_.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            items_[i].row = rows_[i];
        }
        sortTexts(texts, items_, 0);
        setRows();
    }

    /// Texts that are the same before byte `depth`: by the next eight bytes, then those that have
    /// the same ones by the eight behind.
    void sortTexts(const arrow::BinaryArray& texts, std::span<Item> items, std::size_t depth) {
        const auto rest = [&texts, depth](const Item& item) {
            return texts.GetView(item.row).substr(depth);
        };
        if (depth == kComparedFrom) {
            std::ranges::stable_sort(items, {}, rest);
            return;
        }
        for (Item& item : items) {
            item = itemOf(prefixOf(rest(item)), item.row);
        }
        sortItems(items, other_);
        const auto bytesHere = [&rest](const Item& item) {
            return std::min(rest(item).size(), kPrefixBytes + 1);
        };
        for (std::size_t begin = 0, end = 0; begin < items.size(); begin = end) {
            const std::uint64_t key = items[begin].key();
            while (end < items.size() && items[end].key() == key) {
                ++end;
            }
            // A text that ends here comes before those that go on; behind its end it has zeros too.
            const std::span<Item> same = items.subspan(begin, end - begin);
            if (same.size() == 1) {
                continue;
            }
            if (!std::ranges::is_sorted(same, {}, bytesHere)) {
                std::ranges::stable_sort(same, {}, bytesHere);
            }
            const auto longer = std::ranges::lower_bound(same, kPrefixBytes + 1, {}, bytesHere);
            if (same.end() - longer > 1) {
                sortTexts(texts, {longer, same.end()}, depth + kPrefixBytes);
            }
        }
    }

    /// Words from the lowest to the highest, which has the sign.
    void sortByDecimal(const arrow::FixedSizeBinaryArray& values, std::size_t count) {
        const std::int32_t words = values.byte_width() / 8;
        for (std::int32_t w = 0; w < words; ++w) {
            const std::uint64_t sign = w + 1 == words ? kSign : 0;
            const auto keyOf = [&](std::uint32_t row) {
                std::uint64_t word = 0;
                std::memcpy(&word, values.GetValue(row) + std::ptrdiff_t{8} * w, sizeof word);
                return word ^ sign;
            };
            sortBy(keyOf, count);
        }
    }

    void setRows() { std::ranges::transform(items_, rows_.begin(), &Item::row); }

    std::vector<std::uint32_t> rows_;
    std::vector<Item> items_, other_;
};

Result<ArrayPtr> joinedColumn(const arrow::Schema& schema, const std::vector<BatchPtr>& batches,
                              int column) {
    if (batches.size() == 1) {
        return batches.front()->column(column);
    }
    arrow::ArrayVector parts;
    for (const BatchPtr& batch : batches) {
        parts.push_back(batch->column(column));
    }
    return batches.empty() ? fromArrow(arrow::MakeEmptyArray(schema.field(column)->type()), "sort")
                           : fromArrow(arrow::Concatenate(parts), "sort");
}

}  // namespace

std::vector<std::uint32_t> sortedOrder(const arrow::RecordBatch& batch,
                                       const std::vector<int>& columns) {
    RowOrder order(batch.num_rows());
    for (auto column = columns.rbegin(); column != columns.rend(); ++column) {
        order.sortBy(*batch.column(*column));
    }
    return order.take();
}

Result<BatchPtr> gathered(const std::shared_ptr<arrow::Schema>& schema,
                          const std::vector<BatchPtr>& batches, std::span<const std::uint32_t> rows,
                          int threads) {
    const auto indices = std::make_shared<arrow::UInt32Array>(
        static_cast<std::int64_t>(rows.size()), arrow::Buffer::Wrap(rows.data(), rows.size()));
    arrow::ArrayVector columns(static_cast<std::size_t>(schema->num_fields()));
    const auto gather = [&](std::size_t c) -> Status {
        ASSIGN_OR_RETURN(const ArrayPtr all, joinedColumn(*schema, batches, static_cast<int>(c)));
        arrow::compute::ExecContext context(arrow::default_memory_pool());
        context.set_use_threads(false);
        ASSIGN_OR_RETURN(
            const arrow::Datum taken,
            fromArrow(arrow::compute::Take(all, indices,
                                           arrow::compute::TakeOptions::NoBoundsCheck(), &context),
                      "sort"));
        columns[c] = taken.make_array();
        return okStatus();
    };
    RETURN_IF_ERROR(parallelFor(columns.size(), threads, "sort", gather));
    return arrow::RecordBatch::Make(schema, static_cast<std::int64_t>(rows.size()),
                                    std::move(columns));
}

Result<BatchPtr> joinedColumns(const std::shared_ptr<arrow::Schema>& schema,
                               const std::vector<BatchPtr>& batches,
                               const std::vector<int>& columns) {
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    std::int64_t rows = 0;
    for (const BatchPtr& batch : batches) {
        rows += batch->num_rows();
    }
    for (const int column : columns) {
        fields.push_back(schema->field(column));
        ASSIGN_OR_RETURN(ArrayPtr array, joinedColumn(*schema, batches, column));
        arrays.push_back(std::move(array));
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows, std::move(arrays));
}

}  // namespace millrace::table

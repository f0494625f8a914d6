#include "backend/table/sort_order.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "backend/arrays/integer_at.h"
#include "backend/core/parallel.h"
#include "backend/table/row_places.h"
#include "backend/table/text_word.h"

namespace millrace::table {

namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using arrow::Type;

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
constexpr std::size_t kFewItems = 64;       // below this, items are compared
constexpr std::size_t kCachedItems = 8192;  // up to this, items are sorted byte by byte, from the
                                            // last byte
constexpr std::size_t kParallelItems = 65536;
constexpr std::size_t kPrefixBytes = 12;
constexpr std::size_t kComparedFrom = 60;  // texts with this many common bytes are compared

/// A row and its key, or the key's first twelve bytes.
struct Item {
    std::uint64_t high = 0;
    std::uint32_t low = 0, row = 0;

    bool isSameKey(const Item& other) const { return high == other.high && low == other.low; }
    bool isBefore(const Item& other) const {
        return high < other.high || (high == other.high && low < other.low);
    }
    /// Byte `place` of the key, 0 being the lowest.
    std::uint32_t byte(int place) const {
        return (place < 4 ? low >> (8 * place)
                          : static_cast<std::uint32_t>(high >> (8 * (place - 4)))) &
               0xff;
    }
};

/// Calls `body(i)` for i < count, in parallel.
template <class Body>
void forEach(std::size_t count, int threads, const Body& body) {
    const Status status = parallelFor(count, threads, "sort", [&](std::size_t i) {
        body(i);
        return okStatus();
    });
    INVARIANT(status.ok(), "sorting in memory does not fail");
}

std::size_t numPieces(std::size_t items) {
    return std::max<std::size_t>(1, (items + kParallelItems - 1) / kParallelItems);
}

/// Calls `body(begin, end)` for ranges of many items, in parallel.
template <class Body>
void forPieces(std::size_t items, int threads, const Body& body) {
    forEach(numPieces(items), threads, [&](std::size_t i) {
        body(i * kParallelItems, std::min(items, (i + 1) * kParallelItems));
    });
}

/// The bits in which the keys of items differ.
Item differencesOf(std::span<const Item> items, int threads) {
    struct Bits {
        std::uint64_t anyHigh = 0, allHigh = ~std::uint64_t{0};
        std::uint32_t anyLow = 0, allLow = ~std::uint32_t{0};
        void add(const Bits& other) {
            anyHigh |= other.anyHigh;
            allHigh &= other.allHigh;
            anyLow |= other.anyLow;
            allLow &= other.allLow;
        }
    };
    std::vector<Bits> pieces(numPieces(items.size()));
    forPieces(items.size(), threads, [&](std::size_t begin, std::size_t end) {
        Bits bits;
        for (const Item& item : items.subspan(begin, end - begin)) {
            bits.add({item.high, item.high, item.low, item.low});
        }
        pieces[begin / kParallelItems] = bits;
    });
    Bits all;
    for (const Bits& piece : pieces) {
        all.add(piece);
    }
    return {all.anyHigh ^ all.allHigh, all.anyLow ^ all.allLow, 0};
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

/// Sorts from the lowest byte to the highest.
void sortByBytes(std::span<Item> items, std::span<Item> spare, const Item& differ) {
    std::span<Item> from = items, to = spare;
    for (int place = 0; place < 12; ++place) {
        if (differ.byte(place) != 0) {
            sortByByte(from, place, to);
            std::swap(from, to);
        }
    }
    if (from.data() != items.data()) {
        std::ranges::copy(from, items.begin());
    }
}

/// Partitions into `spare` by the highest bits that differ and returns the end of each part. Each
/// thread moves a range of items and keeps its order within each part.
std::vector<std::uint32_t> partByBits(std::span<const Item> items, std::span<Item> spare,
                                      std::uint64_t differ, int threads) {
    const int wanted = std::bit_width(items.size() / (kCachedItems / 2));
    const int highest = std::bit_width(differ);
    const int width = std::min({wanted, highest, 12});
    const int shift = highest - width;
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    const std::size_t stretches = std::clamp<std::size_t>(
        items.size() / kParallelItems, 1, static_cast<std::size_t>(std::max(threads, 1)));
    const std::size_t stretchItems = (items.size() + stretches - 1) / stretches;
    const auto stretch = [&](std::size_t s) {
        const std::size_t begin = std::min(s * stretchItems, items.size());
        return items.subspan(begin, std::min(stretchItems, items.size() - begin));
    };
    std::vector<std::vector<std::uint32_t>> at(stretches);
    forEach(stretches, threads, [&](std::size_t s) {
        at[s].assign(mask + 1, 0);
        for (const Item& item : stretch(s)) {
            ++at[s][item.high >> shift & mask];
        }
    });
    std::vector<std::uint32_t> ends(mask + 1);
    std::uint32_t end = 0;
    for (std::size_t part = 0; part <= mask; ++part) {
        for (std::vector<std::uint32_t>& starts : at) {
            end += std::exchange(starts[part], end);
        }
        ends[part] = end;
    }
    forEach(stretches, threads, [&](std::size_t s) {
        for (const Item& item : stretch(s)) {
            spare[at[s][item.high >> shift & mask]++] = item;
        }
    });
    return ends;
}

/// Sorts by key, stably. `spare`: as many items. Partitions many items by their highest bits until
/// a part fits into a core's cache.
void sortItems(std::span<Item> items, std::span<Item> spare, int threads) {
    if (items.size() < kFewItems) {
        std::ranges::stable_sort(items, [](const Item& a, const Item& b) { return a.isBefore(b); });
        return;
    }
    const Item differ = differencesOf(items, threads);
    if (items.size() <= kCachedItems || differ.high == 0) {
        return sortByBytes(items, spare, differ);
    }
    const std::vector<std::uint32_t> ends = partByBits(items, spare, differ.high, threads);
    const auto sortPart = [&](std::size_t part) {
        const std::size_t begin = part == 0 ? 0 : ends[part - 1];
        const std::size_t count = ends[part] - begin;
        if (count > 0) {
            sortItems(spare.subspan(begin, count), items.subspan(begin, count), 1);
            std::ranges::copy(spare.subspan(begin, count), items.subspan(begin).begin());
        }
    };
    forEach(ends.size(), items.size() < kParallelItems ? 1 : threads, sortPart);
}

/// Same order as in sort_key.cpp: -0 is 0, NaN is last.
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

class RowOrder {
 public:
    RowOrder(const std::vector<BatchPtr>& batches, int threads)
        : batches_(batches), places_(batches), threads_(threads) {}

    /// Call it first: numbers the rows and reserves room. The threads that first write a memory
    /// page create it.
    Status begin() {
        const std::size_t count = places_.rows();
        ASSIGN_OR_RETURN(sorted_.memory, SystemMemory::make(count * sizeof(std::uint32_t), "sort"));
        sorted_.rows = rows_ = {sorted_.memory.as<std::uint32_t>(), count};
        ASSIGN_OR_RETURN(memory_, SystemMemory::make(2 * count * sizeof(Item), "sort"));
        room_ = {memory_.as<Item>(), 2 * count};
        forPieces(count, threads_, [this](std::size_t begin, std::size_t end) {
            std::iota(rows_.begin() + static_cast<std::ptrdiff_t>(begin),
                      rows_.begin() + static_cast<std::ptrdiff_t>(end),
                      static_cast<std::uint32_t>(begin));
        });
        return okStatus();
    }

    void sortBy(int column) {
        parts_.clear();
        for (const BatchPtr& batch : batches_) {
            parts_.push_back(batch->column(column));
        }
        if (parts_.empty()) {
            return;
        }
        setNullsBehind();
        items_ = room_.first(valid_);
        spare_ = room_.subspan(rows_.size(), valid_);
        const bool hasIntegers = arrays::visitIntegers(
            *parts_.front(),
            [this]<class Array>(const Array&) { sortByNumbers<typename Array::value_type>(); });
        if (hasIntegers) {
            return;
        }
        switch (parts_.front()->type_id()) {
            case Type::BOOL:
                return sortByKeys([this](RowPlace place) {
                    const auto& bools =
                        static_cast<const arrow::BooleanArray&>(*parts_[place.batch]);
                    return std::uint64_t{bools.Value(place.row) ? 1U : 0U};
                });
            case Type::FLOAT:
                return sortByNumbers<float>();
            case Type::DOUBLE:
                return sortByNumbers<double>();
            case Type::STRING:
            case Type::BINARY:
                return sortByText();
            default:
                return sortByDecimal();
        }
    }
    SortedRows take() { return std::move(sorted_); }

 private:
    /// Moves rows with a value to the front: valid_ of them.
    void setNullsBehind() {
        std::int64_t nulls = 0;
        for (const ArrayPtr& part : parts_) {
            nulls += part->null_count();
        }
        valid_ = rows_.size() - static_cast<std::size_t>(nulls);
        if (nulls > 0) {
            std::ranges::stable_partition(rows_, [this](std::uint32_t row) {
                const RowPlace place = places_.of(row);
                return parts_[place.batch]->IsValid(place.row);
            });
        }
    }

    template <class KeyOf>
    void sortByKeys(const KeyOf& keyOf) {
        forPieces(valid_, threads_, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                items_[i] = {keyOf(places_.of(rows_[i])), 0, rows_[i]};
            }
        });
        sortItems(items_, spare_, threads_);
        setRows();
    }

    template <class T>
    void sortByNumbers() {
        std::vector<const T*> values;
        for (const ArrayPtr& part : parts_) {
            values.push_back(part->data()->GetValues<T>(1));
        }
        sortByKeys(
            [&values](RowPlace place) { return keyOfNumber(values[place.batch][place.row]); });
    }

    std::string_view textAt(std::uint32_t row) const {
        const RowPlace place = places_.of(row);
        return static_cast<const arrow::BinaryArray&>(*parts_[place.batch]).GetView(place.row);
    }

    void sortByText() {
        forPieces(valid_, threads_, [this](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                items_[i].row = rows_[i];
            }
        });
        sortTexts(items_, spare_, 0);
        setRows();
    }

    /// Sorts texts that agree before byte `depth`: by the next twelve bytes, then ties by the
    /// following twelve.
    void sortTexts(std::span<Item> items, std::span<Item> spare, std::size_t depth) {
        const auto rest = [this, depth](const Item& item) {
            return textAt(item.row).substr(depth);
        };
        if (depth == kComparedFrom) {
            std::ranges::stable_sort(items, {}, rest);
            return;
        }
        std::atomic<bool> isWhole{true};  // the prefix holds each whole text
        forPieces(items.size(), threads_, [&](std::size_t begin, std::size_t end) {
            bool isWholeHere = true;
            for (Item& item : items.subspan(begin, end - begin)) {
                const std::string_view text = rest(item);
                item.high = firstWord(text);
                item.low = text.size() <= 8
                               ? 0
                               : static_cast<std::uint32_t>(firstWord(text.substr(8)) >> 32);
                isWholeHere &= text.size() <= kPrefixBytes && (text.empty() || text.back() != 0);
            }
            if (!isWholeHere) {
                isWhole = false;
            }
        });
        sortItems(items, spare, threads_);
        if (!isWhole) {
            sortSame(items, spare, depth);
        }
    }

    /// Orders texts with the same prefix: one that ends within it comes before longer ones, since a
    /// text's zero bytes look like the padding after its end.
    void sortSame(std::span<Item> items, std::span<Item> spare, std::size_t depth) {
        const auto bytesHere = [this, depth](const Item& item) {
            return std::min(textAt(item.row).size() - depth, kPrefixBytes + 1);
        };
        for (std::size_t begin = 0, end = 0; begin < items.size(); begin = end) {
            while (end < items.size() && items[end].isSameKey(items[begin])) {
                ++end;
            }
            const std::span<Item> same = items.subspan(begin, end - begin);
            if (same.size() == 1) {
                continue;
            }
            if (!std::ranges::is_sorted(same, {}, bytesHere)) {
                std::ranges::stable_sort(same, {}, bytesHere);
            }
            const auto longer = std::ranges::lower_bound(same, kPrefixBytes + 1, {}, bytesHere);
            if (same.end() - longer > 1) {
                const auto at = begin + static_cast<std::size_t>(longer - same.begin());
                sortTexts(items.subspan(at, end - at), spare.subspan(at, end - at),
                          depth + kPrefixBytes);
            }
        }
    }

    /// Sorts by words from the lowest to the highest, which has the sign.
    void sortByDecimal() {
        const auto& type = static_cast<const arrow::FixedSizeBinaryType&>(*parts_.front()->type());
        const std::int32_t words = type.byte_width() / 8;
        for (std::int32_t w = 0; w < words; ++w) {
            const std::uint64_t sign = w + 1 == words ? kSign : 0;
            sortByKeys([&](RowPlace place) {
                const auto& part =
                    static_cast<const arrow::FixedSizeBinaryArray&>(*parts_[place.batch]);
                return wordAt<std::uint64_t>(part.GetValue(place.row) + std::ptrdiff_t{8} * w) ^
                       sign;
            });
        }
    }

    void setRows() {
        forPieces(valid_, threads_, [this](std::size_t begin, std::size_t end) {
            std::ranges::transform(items_.subspan(begin, end - begin),
                                   rows_.begin() + static_cast<std::ptrdiff_t>(begin), &Item::row);
        });
    }

    const std::vector<BatchPtr>& batches_;
    const RowPlaces places_;
    const int threads_;
    SortedRows sorted_;
    std::span<std::uint32_t> rows_;  ///< in `sorted_`
    SystemMemory memory_;
    std::span<Item> room_;           ///< twice as many as rows
    std::span<Item> items_, spare_;  ///< of the rows that have a value
    arrow::ArrayVector parts_;       ///< the column by which rows are sorted
    std::size_t valid_ = 0;
};

}  // namespace

Result<SortedRows> sortedOrder(const std::vector<BatchPtr>& batches,
                               const std::vector<int>& columns, int threads) {
    RowOrder order(batches, threads);
    RETURN_IF_ERROR(order.begin());
    for (auto column = columns.rbegin(); column != columns.rend(); ++column) {
        order.sortBy(*column);
    }
    return order.take();
}

}  // namespace millrace::table

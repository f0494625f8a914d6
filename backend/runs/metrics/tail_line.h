#pragma once
// Packs the values of a line in the tail as bytes: (key number, value) of 12 bytes each, and
// summaries of several ranks of 40 bytes each, both sorted by key.
//
// Pure. If the size is not a multiple of an item, the end is ignored; nothing is read beyond it.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "backend/values/metric_line.h"

namespace millrace::runs {

inline constexpr std::int64_t kTailValueBytes = 12;

struct TailValue {
    std::uint32_t keyNo = 0;
    double value = 0;
};

/// If a key occurs twice, the first value counts.
inline std::string packTailValues(std::vector<TailValue> values) {
    const auto byKey = [](const TailValue& a, const TailValue& b) { return a.keyNo < b.keyNo; };
    std::ranges::stable_sort(values, byKey);
    std::string bytes;
    bytes.reserve(values.size() * kTailValueBytes);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0 && values[i].keyNo == values[i - 1].keyNo) {
            continue;
        }
        char item[kTailValueBytes];
        std::memcpy(item, &values[i].keyNo, sizeof(std::uint32_t));
        std::memcpy(item + sizeof(std::uint32_t), &values[i].value, sizeof(double));
        bytes.append(item, sizeof(item));
    }
    return bytes;
}

/// A view of packed values; the bytes outlive it.
class TailValues {
 public:
    explicit TailValues(std::string_view bytes) : bytes_(bytes) {}

    std::size_t size() const { return bytes_.size() / kTailValueBytes; }
    std::uint32_t keyAt(std::size_t i) const {
        std::uint32_t key = 0;
        std::memcpy(&key, bytes_.data() + i * kTailValueBytes, sizeof(key));
        return key;
    }
    double valueAt(std::size_t i) const {
        double value = 0;
        std::memcpy(&value, bytes_.data() + i * kTailValueBytes + sizeof(std::uint32_t),
                    sizeof(value));
        return value;
    }
    /// The first place from `from` on whose key is not less than `keyNo`.
    std::size_t lowerBound(std::uint32_t keyNo, std::size_t from = 0) const {
        std::size_t count = size() - from;
        while (count > 0) {
            const std::size_t half = count / 2;
            if (keyAt(from + half) < keyNo) {
                from += half + 1;
                count -= half + 1;
            } else {
                count = half;
            }
        }
        return from;
    }

 private:
    std::string_view bytes_;
};

/// u32 key, then as RankSummary: f64 median, least, greatest, i32 ranks of the extremes, i32 ranks.
inline constexpr std::size_t kTailSummaryBytes = 40;

struct TailSummary {
    std::uint32_t keyNo = 0;
    values::RankSummary summary;
};

/// If a key occurs twice, the first summary counts.
inline std::string packTailSummaries(std::vector<TailSummary> items) {
    std::ranges::stable_sort(
        items, [](const TailSummary& a, const TailSummary& b) { return a.keyNo < b.keyNo; });
    std::string bytes;
    bytes.reserve(items.size() * kTailSummaryBytes);
    const auto put = [&bytes](auto value) {
        char item[sizeof(value)];
        std::memcpy(item, &value, sizeof(value));
        bytes.append(item, sizeof(value));
    };
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0 && items[i].keyNo == items[i - 1].keyNo) {
            continue;
        }
        const values::RankSpread& ranks = items[i].summary.ranks;
        put(items[i].keyNo);
        put(items[i].summary.median);
        put(ranks.least);
        put(ranks.greatest);
        put(static_cast<std::int32_t>(ranks.leastRank));
        put(static_cast<std::int32_t>(ranks.greatestRank));
        put(static_cast<std::int32_t>(ranks.numRanks));
    }
    return bytes;
}

/// All summaries, sorted by key.
inline std::vector<TailSummary> unpackTailSummaries(std::string_view bytes) {
    std::vector<TailSummary> items;
    const auto get = [&bytes](auto& value) {
        std::memcpy(&value, bytes.data(), sizeof(value));
        bytes.remove_prefix(sizeof(value));
    };
    while (bytes.size() >= kTailSummaryBytes) {
        TailSummary& item = items.emplace_back();
        std::int32_t numbers[3] = {};
        get(item.keyNo);
        get(item.summary.median);
        get(item.summary.ranks.least);
        get(item.summary.ranks.greatest);
        for (std::int32_t& number : numbers) {
            get(number);
        }
        item.summary.ranks.leastRank = numbers[0];
        item.summary.ranks.greatestRank = numbers[1];
        item.summary.ranks.numRanks = numbers[2];
    }
    return items;
}

}  // namespace millrace::runs

#include <algorithm>
#include <cmath>

#include "backend/values/metric_line.h"

namespace millrace::values {
namespace {

bool isLess(double value, double than) {
    return !std::isnan(value) && (std::isnan(than) || value < than);
}

bool isGreater(double value, double than) {
    return !std::isnan(value) && (std::isnan(than) || value > than);
}

// If a rank occurs several times, keeps its last value.
void keepLastOfEach(std::vector<RankValue>& values) {
    std::ranges::stable_sort(
        values, [](const RankValue& a, const RankValue& b) { return a.rank < b.rank; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i + 1 == values.size() || values[i + 1].rank != values[i].rank) {
            values[kept++] = values[i];
        }
    }
    values.resize(kept);
}

}  // namespace

bool MetricSeries::isOfRanks() const {
    return std::ranges::any_of(points,
                               [](const MetricPoint& point) { return point.ranks.has_value(); });
}

RankSummary summarize(std::vector<RankValue> values) {
    keepLastOfEach(values);
    RankSummary out;
    RankSpread& ranks = out.ranks;
    ranks = {values[0].value, values[0].value, values[0].rank, values[0].rank,
             static_cast<int>(values.size())};
    for (const RankValue& one : values) {
        if (isLess(one.value, ranks.least)) {
            ranks.least = one.value;
            ranks.leastRank = one.rank;
        }
        if (isGreater(one.value, ranks.greatest)) {
            ranks.greatest = one.value;
            ranks.greatestRank = one.rank;
        }
    }
    std::vector<double> numbers;
    for (const RankValue& one : values) {
        if (!std::isnan(one.value)) {
            numbers.push_back(one.value);
        }
    }
    out.median = values[0].value;
    if (!numbers.empty()) {
        const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
        std::nth_element(numbers.begin(), middle, numbers.end());
        out.median = *middle;
    }
    return out;
}

RankSummary joined(const RankSummary& a, const RankSummary& b) {
    RankSummary out = b.ranks.numRanks > a.ranks.numRanks ? b : a;
    for (const RankSpread* one : {&a.ranks, &b.ranks}) {
        if (isLess(one->least, out.ranks.least)) {
            out.ranks.least = one->least;
            out.ranks.leastRank = one->leastRank;
        }
        if (isGreater(one->greatest, out.ranks.greatest)) {
            out.ranks.greatest = one->greatest;
            out.ranks.greatestRank = one->greatestRank;
        }
    }
    out.ranks.numRanks = a.ranks.numRanks + b.ranks.numRanks;
    return out;
}

std::optional<SeriesEnds> endsOf(std::span<const MetricPoint> points) {
    std::optional<SeriesEnds> ends;
    for (const MetricPoint& point : points) {
        const double least = leastOf(point), greatest = greatestOf(point);
        if (std::isnan(least) || std::isnan(greatest)) {
            continue;
        }
        if (!ends) {
            ends.emplace();
            ends->least.value = least;
            ends->greatest.value = greatest;
            ends->least.step = ends->greatest.step = point.step;
            ends->least.rank = point.ranks ? point.ranks->leastRank : kNoRank;
            ends->greatest.rank = point.ranks ? point.ranks->greatestRank : kNoRank;
            continue;
        }
        if (least < ends->least.value) {
            ends->least = {least, point.step, point.ranks ? point.ranks->leastRank : kNoRank};
        }
        if (greatest > ends->greatest.value) {
            ends->greatest = {greatest, point.step,
                              point.ranks ? point.ranks->greatestRank : kNoRank};
        }
    }
    return ends;
}

}  // namespace millrace::values

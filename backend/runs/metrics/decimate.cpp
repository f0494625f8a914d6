#include "backend/runs/metrics/decimate.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace millrace::runs {

using values::greatestOf;
using values::leastOf;

void addExtremes(std::span<const values::MetricPoint> points, std::size_t from, std::size_t to,
                 std::vector<std::size_t>& places) {
    // Lowest and highest median; least and greatest of any rank.
    std::size_t low = from, high = from, least = from, greatest = from;
    for (std::size_t i = from + 1; i < to; ++i) {
        const double value = points[i].value;
        if (std::isnan(points[low].value) || value < points[low].value) {
            low = i;
        }
        if (std::isnan(points[high].value) || value > points[high].value) {
            high = i;
        }
        const double at = leastOf(points[least]), up = greatestOf(points[greatest]);
        if (std::isnan(at) || leastOf(points[i]) < at) {
            least = i;
        }
        if (std::isnan(up) || greatestOf(points[i]) > up) {
            greatest = i;
        }
    }
    std::array<std::size_t, 4> found = {low, high, least, greatest};
    std::ranges::sort(found);
    const auto end = std::unique(found.begin(), found.end());
    places.insert(places.end(), found.begin(), end);
}

Thinner::Thinner(std::int64_t numPoints, int maxPoints, bool isOfRanks)
    : inner_(std::max<std::int64_t>(numPoints - 2, 1)),
      numBuckets_(std::max<std::int64_t>((maxPoints - 2) / bucketKeeps(isOfRanks), 1)) {}

void Thinner::add(std::int64_t place, std::span<const values::MetricPoint> piece) {
    if (piece.empty()) {
        return;
    }
    while (bucket_ + 1 < numBuckets_ && place >= 1 + (bucket_ + 1) * inner_ / numBuckets_) {
        close();
        ++bucket_;
    }
    places_.clear();
    addExtremes(piece, 0, piece.size(), places_);
    for (const std::size_t at : places_) {
        open_.push_back(piece[at]);
    }
}

void Thinner::close() {
    if (open_.empty()) {
        return;
    }
    places_.clear();
    addExtremes(open_, 0, open_.size(), places_);
    for (const std::size_t at : places_) {
        out_.push_back(open_[at]);
    }
    open_.clear();
}

std::vector<values::MetricPoint> Thinner::take() {
    close();
    out_.push_back(last_);
    return std::move(out_);
}

std::vector<values::MetricPoint> decimate(const std::vector<values::MetricPoint>& points,
                                          int maxPoints) {
    const auto most = static_cast<std::size_t>(std::max(maxPoints, 4));
    if (points.size() <= most) {
        return points;
    }
    const bool isOfRanks = std::ranges::any_of(
        points, [](const values::MetricPoint& point) { return point.ranks.has_value(); });
    Thinner thinner(static_cast<std::int64_t>(points.size()), static_cast<int>(most), isOfRanks);
    thinner.addStart(points.front());
    for (std::size_t i = 1; i + 1 < points.size(); ++i) {
        thinner.add(static_cast<std::int64_t>(i), std::span(points).subspan(i, 1));
    }
    thinner.addEnd(points.back());
    return thinner.take();
}

}  // namespace millrace::runs

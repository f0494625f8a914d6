#include "backend/runs/decimate.h"

#include <algorithm>
#include <cmath>

namespace millrace::runs {

std::pair<std::size_t, std::size_t> extremes(std::span<const MetricPoint> points, std::size_t from,
                                             std::size_t to) {
    std::size_t lowest = from, highest = from;
    for (std::size_t i = from + 1; i < to; ++i) {
        const double value = points[i].value;
        if (std::isnan(points[lowest].value) || value < points[lowest].value) {
            lowest = i;
        }
        if (std::isnan(points[highest].value) || value > points[highest].value) {
            highest = i;
        }
    }
    return {lowest, highest};
}

Thinner::Thinner(std::int64_t numPoints, int maxPoints)
    : inner_(std::max<std::int64_t>(numPoints - 2, 1)),
      numBuckets_(std::max<std::int64_t>((maxPoints - 2) / 2, 1)) {}

void Thinner::add(std::int64_t place, std::span<const MetricPoint> piece) {
    if (piece.empty()) {
        return;
    }
    while (bucket_ + 1 < numBuckets_ && place >= 1 + (bucket_ + 1) * inner_ / numBuckets_) {
        close();
        ++bucket_;
    }
    const auto [low, high] = extremes(piece, 0, piece.size());
    open_.push_back(piece[std::min(low, high)]);
    if (low != high) {
        open_.push_back(piece[std::max(low, high)]);
    }
}

void Thinner::close() {
    if (open_.empty()) {
        return;
    }
    const auto [low, high] = extremes(open_, 0, open_.size());
    out_.push_back(open_[std::min(low, high)]);
    if (low != high) {
        out_.push_back(open_[std::max(low, high)]);
    }
    open_.clear();
}

std::vector<MetricPoint> Thinner::take() {
    close();
    out_.push_back(last_);
    return std::move(out_);
}

std::vector<MetricPoint> decimate(const std::vector<MetricPoint>& points, int maxPoints) {
    const auto most = static_cast<std::size_t>(std::max(maxPoints, 4));
    if (points.size() <= most) {
        return points;
    }
    Thinner thinner(static_cast<std::int64_t>(points.size()), static_cast<int>(most));
    thinner.addStart(points.front());
    for (std::size_t i = 1; i + 1 < points.size(); ++i) {
        thinner.add(static_cast<std::int64_t>(i), std::span(points).subspan(i, 1));
    }
    thinner.addEnd(points.back());
    return thinner.take();
}

}  // namespace millrace::runs

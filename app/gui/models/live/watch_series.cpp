#include "app/gui/models/live/watch_series.h"

#include <algorithm>
#include <limits>

namespace millrace::gui {
namespace {

constexpr std::size_t kPointsMax = 32'000;  // per series; older ones are thinned to their extremes
constexpr std::size_t kExactRangesMax = 64;

struct Columns {
    std::vector<double> x, y, rows, timeMs;
    void add(const CurvePoint& point) {
        x.push_back(point.x);
        y.push_back(point.y);
        rows.push_back(point.rows);
        timeMs.push_back(point.timeMs);
    }
    CurveColumns view() const { return {x, y, rows, timeMs}; }
};

CurvePoint pointOf(const values::MetricPoint& from) {
    CurvePoint point;
    point.x = static_cast<double>(from.step);
    point.y = from.value;
    point.rows = static_cast<double>(from.rows);
    point.timeMs = static_cast<double>(from.timeMs);
    return point;
}

CurvePoint pointOf(const values::MetricLine& line, double value) {
    CurvePoint point;
    point.x = static_cast<double>(line.step);
    point.y = value;
    point.rows = static_cast<double>(line.rows);
    point.timeMs = static_cast<double>(line.timeMs);
    return point;
}

// Both edges of a point; with one rank they are its value.
CurveBand::Point bandPoint(const CurvePoint& point,
                           const std::optional<values::RankSpread>& ranks) {
    return ranks ? CurveBand::Point{point, ranks->least, ranks->greatest, ranks->leastRank,
                                    ranks->greatestRank}
                 : CurveBand::Point{point, point.y, point.y, 0, 0};
}

std::optional<CurvePoint> lastPoint(const CurveStore& store) {
    return store.isEmpty() ? std::nullopt : std::optional(store.at(store.size() - 1));
}

}  // namespace

WatchSeries::Series& WatchSeries::ensure(const std::string& name, bool& isNew) {
    Series& series = series_[name];
    if (!series.store) {
        series.store =
            std::make_shared<CurveStore>(CurveStore::Options{.numPointsMax = kPointsMax});
        isNew = true;
    }
    return series;
}

// Replaces the store's points in [low, high] by those of `from`; points outside stay.
void WatchSeries::replace(Series& series, const values::MetricSeries& from, double low,
                          double high) {
    CurveStore& store = *series.store;
    Columns merged;
    const std::size_t before = store.lowerBound(CurveAxis::kX, low);
    for (std::size_t i = 0; i < before; ++i) {
        merged.add(store.at(i));
    }
    for (const values::MetricPoint& one : from.points) {
        const CurvePoint point = pointOf(one);
        if (point.x >= low && point.x <= high) {
            merged.add(point);
        }
    }
    for (std::size_t i = store.lowerBound(CurveAxis::kX, high); i < store.size(); ++i) {
        if (store.at(i).x > high) {
            merged.add(store.at(i));
        }
    }
    store.replaceAll(merged.view());
    if (from.isOfRanks() || series.band) {
        std::vector<CurveBand::Point> edges;
        for (const values::MetricPoint& one : from.points) {
            edges.push_back(bandPoint(pointOf(one), one.ranks));
        }
        bandOf(series).replace(edges, low, high);
    }
}

// Created when ranks first differ: a run with one rank has none.
CurveBand& WatchSeries::bandOf(Series& series) {
    if (!series.band) {
        series.band = std::make_shared<CurveBand>(CurveStore::Options{.numPointsMax = kPointsMax});
    }
    return *series.band;
}

// Points that the store thinned out can be requested again.
void WatchSeries::noteThinning(Series& series) {
    if (series.store->numThinned() != series.numThinned) {
        series.numThinned = series.store->numThinned();
        const CurvePoint middle = series.store->at(series.store->size() / 2);
        series.decimatedTo = std::max(series.decimatedTo, static_cast<std::int64_t>(middle.x));
        series.exact.clear();
    }
}

void WatchSeries::setHistory(const values::MetricHistory& history) {
    hasHistory_ = true;
    cursor_ = history.cursor;
    for (const values::MetricSeries& stored : history.series) {
        if (stored.points.empty()) {
            continue;
        }
        bool isNew = false;
        Series& series = ensure(stored.key, isNew);
        replace(series, stored, -std::numeric_limits<double>::infinity(),
                static_cast<double>(stored.points.back().step));
        series.decimatedTo = stored.isDecimated ? stored.points.back().step : 0;
        series.exact.clear();
    }
}

bool WatchSeries::apply(std::optional<std::int64_t> dropAfterStep,
                        std::span<const values::MetricLine> lines,
                        const values::MetricNames& names) {
    if (dropAfterStep) {
        ++numDrops_;
        for (auto& [name, series] : series_) {
            series.store->dropAfter(static_cast<double>(*dropAfterStep));
            if (series.band) {
                series.band->dropAfter(static_cast<double>(*dropAfterStep));
            }
            series.decimatedTo =
                std::min(series.decimatedTo, std::max<std::int64_t>(0, *dropAfterStep));
        }
    }
    bool isNew = false;
    // By number first: a name is looked up once per delivery.
    struct Fresh {
        std::vector<CurvePoint> points;
        std::vector<std::optional<values::RankSpread>> ranks;
    };
    std::map<std::uint32_t, Fresh> byKey;
    for (const values::MetricLine& line : lines) {
        for (const values::MetricValue& value : line.values) {
            byKey[value.key].points.push_back(pointOf(line, value.value));
            byKey[value.key].ranks.push_back(value.ranks);
        }
    }
    for (auto& [key, fresh] : byKey) {
        Series& series = ensure(names.at(key), isNew);
        // A curve only grows forward. While a run evaluates, a feed and the daemon send several
        // points of one step: all are kept. Telemetry may have sent one already (addSample).
        const std::optional<CurvePoint> newest = lastPoint(*series.store);
        double lastX = newest ? newest->x : -1, lastMs = newest ? newest->timeMs : kNoValue;
        std::vector<CurvePoint> kept;
        for (std::size_t i = 0; i < fresh.points.size(); ++i) {
            const CurvePoint& point = fresh.points[i];
            if (point.x < lastX || (point.x == lastX && !(point.timeMs > lastMs))) {
                continue;
            }
            lastX = point.x;
            lastMs = point.timeMs;
            if (fresh.ranks[i] || series.band) {
                const CurveBand::Point edges = bandPoint(point, fresh.ranks[i]);
                isNew =
                    isNew || !series.band;  // charts of the curve must show its band from now on
                bandOf(series).append(std::span(&edges, 1));
            }
            kept.push_back(point);
        }
        series.store->append(kept);
        noteThinning(series);
    }
    return isNew;
}

bool WatchSeries::addSample(const std::string& name, std::int64_t step, std::int64_t timeMs,
                            double value) {
    bool isNew = false;
    Series& series = ensure(name, isNew);
    const CurveStore& store = *series.store;
    CurvePoint point;
    const std::optional<CurvePoint> last = lastPoint(store);
    point.x = std::max(static_cast<double>(step), last ? last->x : -1);
    point.y = value;
    point.timeMs = static_cast<double>(timeMs);
    if (!last || point.timeMs > last->timeMs) {
        series.store->append(std::span(&point, 1));
    }
    return isNew;
}

void WatchSeries::refine(const values::MetricHistory& finer, std::int64_t fromStep,
                         std::int64_t toStep) {
    for (const values::MetricSeries& points : finer.series) {
        const auto found = series_.find(points.key);
        if (found == series_.end()) {
            continue;
        }
        Series& series = found->second;
        // Live points after the history are exact already, and newer than the answer.
        const std::int64_t to = std::min(toStep, series.decimatedTo);
        if (to < fromStep) {
            continue;
        }
        replace(series, points, static_cast<double>(fromStep), static_cast<double>(to));
        if (!points.isDecimated && series.exact.size() < kExactRangesMax) {
            series.exact.emplace_back(fromStep, to);
        }
    }
}

void WatchSeries::clear() {
    for (auto& [name, series] : series_) {
        series.store->clear();
        if (series.band) {
            series.band->clear();
        }
        series.decimatedTo = 0;
        series.exact.clear();
    }
}

std::vector<std::string> WatchSeries::names() const {
    std::vector<std::string> names;
    names.reserve(series_.size());
    for (const auto& [name, series] : series_) {
        names.push_back(name);
    }
    return names;
}

std::shared_ptr<const CurveStore> WatchSeries::curve(const std::string& name) const {
    const auto found = series_.find(name);
    return found == series_.end() ? nullptr : found->second.store;
}

std::shared_ptr<const CurveBand> WatchSeries::band(const std::string& name) const {
    const auto found = series_.find(name);
    return found == series_.end() ? nullptr : found->second.band;
}

bool WatchSeries::wantsDetail(const std::string& name, std::int64_t fromStep,
                              std::int64_t toStep) const {
    const auto found = series_.find(name);
    if (found == series_.end() || fromStep > found->second.decimatedTo) {
        return false;
    }
    const std::int64_t to = std::min(toStep, found->second.decimatedTo);
    return std::ranges::none_of(found->second.exact, [&](const auto& range) {
        return range.first <= fromStep && range.second >= to;
    });
}

std::optional<WatchSeries::Steps> WatchSeries::stepsIn(const std::set<std::string>& names,
                                                       CurveAxis axis, double from,
                                                       double to) const {
    std::optional<Steps> steps;
    for (const std::string& name : names) {
        const auto found = series_.find(name);
        if (found == series_.end() || found->second.store->isEmpty()) {
            continue;
        }
        // One more point on either side: the line enters and leaves there.
        const CurveStore& store = *found->second.store;
        const std::size_t first = store.lowerBound(axis, from);
        const std::size_t last = store.lowerBound(axis, to);
        const auto low = static_cast<std::int64_t>(store.at(first > 0 ? first - 1 : 0).x);
        const auto high = static_cast<std::int64_t>(store.at(std::min(last, store.size() - 1)).x);
        steps =
            steps ? Steps{std::min(steps->from, low), std::max(steps->to, high)} : Steps{low, high};
    }
    return steps;
}

std::size_t WatchSeries::bytesUsed() const {
    std::size_t bytes = 0;
    for (const auto& [name, series] : series_) {
        bytes += series.store->bytesUsed();
    }
    return bytes;
}

}  // namespace millrace::gui

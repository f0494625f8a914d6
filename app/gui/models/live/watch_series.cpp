#include "app/gui/models/live/watch_series.h"

#include <algorithm>
#include <limits>

namespace millrace::gui {
namespace {

constexpr std::size_t kPointsMax = 32'000;  // a series; older ones are thinned to their extremes
constexpr std::int64_t kLateSteps = 20'000;
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

CurvePoint pointAt(const client::MetricSeries& series, std::size_t i) {
    CurvePoint point;
    point.x = static_cast<double>(series.steps[i]);
    point.y = series.values[i];
    if (i < series.rows.size()) {
        point.rows = static_cast<double>(series.rows[i]);
    }
    if (i < series.timesMs.size()) {
        point.timeMs = static_cast<double>(series.timesMs[i]);
    }
    return point;
}

CurvePoint pointOf(const client::MetricPoint& metric) {
    CurvePoint point;
    point.x = static_cast<double>(metric.step);
    point.y = metric.value;
    point.timeMs = static_cast<double>(metric.timeMs);
    return point;
}

double lastStep(const CurveStore& store) {
    return store.isEmpty() ? -1 : store.at(store.size() - 1).x;
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

// The store's points in [from, to] become those of `points`; what stands outside stays.
void WatchSeries::replace(CurveStore& store, const client::MetricSeries& points, double from,
                          double to) {
    Columns merged;
    const std::size_t before = store.lowerBound(CurveAxis::kX, from);
    for (std::size_t i = 0; i < before; ++i) {
        merged.add(store.at(i));
    }
    for (std::size_t i = 0; i < points.steps.size(); ++i) {
        const CurvePoint point = pointAt(points, i);
        if (point.x >= from && point.x <= to) {
            merged.add(point);
        }
    }
    for (std::size_t i = store.lowerBound(CurveAxis::kX, to); i < store.size(); ++i) {
        if (store.at(i).x > to) {
            merged.add(store.at(i));
        }
    }
    store.replaceAll(merged.view());
}

// What the store gave up to its bound can be asked for again.
void WatchSeries::noteThinning(Series& series) {
    if (series.store->numThinned() != series.numThinned) {
        series.numThinned = series.store->numThinned();
        const CurvePoint middle = series.store->at(series.store->size() / 2);
        series.decimatedTo = std::max(series.decimatedTo, static_cast<std::int64_t>(middle.x));
        series.exact.clear();
    }
}

void WatchSeries::setHistory(const std::vector<client::MetricSeries>& history) {
    hasHistory_ = true;
    for (const client::MetricSeries& stored : history) {
        if (stored.steps.empty()) {
            continue;
        }
        bool isNew = false;
        Series& series = ensure(stored.name, isNew);
        replace(*series.store, stored, -std::numeric_limits<double>::infinity(),
                static_cast<double>(stored.steps.back()));
        series.decimatedTo = stored.isDecimated ? stored.steps.back() : 0;
        series.exact.clear();
    }
}

bool WatchSeries::apply(std::optional<std::int64_t> dropAfterStep,
                        std::span<const client::MetricPoint> points) {
    if (dropAfterStep) {
        ++numDrops_;
        for (auto& [name, series] : series_) {
            series.store->dropAfter(static_cast<double>(*dropAfterStep));
            series.decimatedTo =
                std::min(series.decimatedTo, std::max<std::int64_t>(0, *dropAfterStep));
        }
    }
    bool isNew = false;
    // A delivery holds stretches of few names: points of one name go in together.
    std::map<std::string_view, std::vector<CurvePoint>> byName;
    for (const client::MetricPoint& metric : points) {
        byName[metric.name].push_back(pointOf(metric));
    }
    for (auto& [name, fresh] : byName) {
        Series& series = ensure(std::string(name), isNew);
        double last = lastStep(*series.store);
        const auto isRepeated = [&](const CurvePoint& point) {
            const bool isOld = point.x <= last;
            last = std::max(last, point.x);
            return isOld;
        };
        std::erase_if(fresh, isRepeated);
        series.store->append(fresh);
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
    point.x = std::max(static_cast<double>(step), lastStep(store));
    point.y = value;
    point.timeMs = static_cast<double>(timeMs);
    if (store.isEmpty() || point.timeMs > store.at(store.size() - 1).timeMs) {
        series.store->append(std::span(&point, 1));
    }
    return isNew;
}

void WatchSeries::refine(const std::vector<client::MetricSeries>& finer, std::int64_t fromStep,
                         std::int64_t toStep) {
    for (const client::MetricSeries& points : finer) {
        const auto found = series_.find(points.name);
        if (found == series_.end()) {
            continue;
        }
        Series& series = found->second;
        // Live points behind the history are exact already, and newer than the answer.
        const std::int64_t to = std::min(toStep, series.decimatedTo);
        if (to < fromStep) {
            continue;
        }
        replace(*series.store, points, static_cast<double>(fromStep), static_cast<double>(to));
        if (!points.isDecimated && series.exact.size() < kExactRangesMax) {
            series.exact.emplace_back(fromStep, to);
        }
    }
}

void WatchSeries::clear() {
    for (auto& [name, series] : series_) {
        series.store->clear();
        series.decimatedTo = 0;
        series.exact.clear();
    }
}

std::int64_t WatchSeries::followFrom() const {
    std::int64_t newest = 0;
    for (const auto& [name, series] : series_) {
        newest = std::max(newest, static_cast<std::int64_t>(lastStep(*series.store)));
    }
    // Evaluations, the loader and the rank count by their own steps: the one that is least far
    // says where to go on. One that is very far behind has ended.
    std::int64_t from = newest;
    for (const auto& [name, series] : series_) {
        const auto last = static_cast<std::int64_t>(lastStep(*series.store));
        if (last >= newest - kLateSteps) {
            from = std::min(from, last);
        }
    }
    return std::max<std::int64_t>(0, from);
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

std::optional<CurvePoint> WatchSeries::newest(const std::string& name) const {
    const auto found = series_.find(name);
    return found == series_.end() ? std::nullopt : found->second.store->newest();
}

bool WatchSeries::wantsDetail(const std::string& name, std::int64_t fromStep,
                              std::int64_t toStep) const {
    const auto found = series_.find(name);
    if (found == series_.end() || fromStep > found->second.decimatedTo) {
        return false;
    }
    const std::int64_t to = std::min(toStep, found->second.decimatedTo);
    return std::none_of(
        found->second.exact.begin(), found->second.exact.end(),
        [&](const auto& range) { return range.first <= fromStep && range.second >= to; });
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
        // One point more on either side: the line enters and leaves there.
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

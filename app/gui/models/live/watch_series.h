#pragma once
// WatchSeries: the curves of one run's metrics: stored history first, then live points, without
// gaps or repeated points.
//
// History may be decimated (the smallest and largest points of buckets). A part that the user zooms
// into is then replaced by exact points (refine), and wantsDetail() returns whether that is worth a
// request. Live points start after the history's cursor, so none is repeated. If ranks differ, a
// curve has a band: band() has its lower and upper edge beside the medians.
//
// Threads: the GUI thread. Owns: the stores; charts share them. Failure: none; a name that was
// never logged has no curve.
#include <QString>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "app/gui/models/curve_band.h"
#include "app/gui/models/curve_store.h"
#include "backend/values/metric_line.h"

namespace millrace::gui {

class WatchSeries {
 public:
    /// Sets stored points as metricRange() returned them. Later live points stay.
    void setHistory(const values::MetricHistory& history);
    /// Applies a delivery: first the drop, then the lines (live_values.h). Returns true for a new
    /// name.
    bool apply(std::optional<std::int64_t> dropAfterStep, std::span<const values::MetricLine> lines,
               const values::MetricNames& names);
    /// Adds a telemetry value of the run ("system.rank.cpu_percent"). Returns true for a new name.
    bool addSample(const std::string& name, std::int64_t step, std::int64_t timeMs, double value);
    /// Inserts exact (or finer) points of [fromStep, toStep].
    void refine(const values::MetricHistory& finer, std::int64_t fromStep, std::int64_t toStep);

    /// Forgets every point; the stores that charts share stay.
    void clear();
    bool hasHistory() const { return hasHistory_; }
    /// The position after the history, from which the run is followed.
    const values::MetricCursor& followFrom() const { return cursor_; }
    std::vector<std::string> names() const;
    /// Null if it was never logged.
    std::shared_ptr<const CurveStore> curve(const std::string& name) const;
    /// Null if no point is from several ranks.
    std::shared_ptr<const CurveBand> band(const std::string& name) const;
    /// Whether the daemon may have more points of a name in [fromStep, toStep] than are here.
    bool wantsDetail(const std::string& name, std::int64_t fromStep, std::int64_t toStep) const;
    /// The steps whose points are in [fromMs, toMs], over all curves of these names.
    struct Steps {
        std::int64_t from = 0, to = 0;
    };
    std::optional<Steps> stepsIn(const std::set<std::string>& names, CurveAxis axis, double from,
                                 double to) const;
    std::size_t bytesUsed() const;
    /// When a new attempt last discarded points, and how often.
    int numDrops() const { return numDrops_; }

 private:
    struct Series {
        std::shared_ptr<CurveStore> store;
        std::shared_ptr<CurveBand> band;
        std::int64_t decimatedTo = 0;  ///< up to this step; 0: all points are here
        std::uint64_t numThinned = 0;  ///< by the store's bound, as far as recorded
        std::vector<std::pair<std::int64_t, std::int64_t>> exact;  ///< ranges that were refined
    };
    static void noteThinning(Series& series);
    Series& ensure(const std::string& name, bool& isNew);
    static void replace(Series& series, const values::MetricSeries& from, double low, double high);
    static CurveBand& bandOf(Series& series);

    std::map<std::string, Series> series_;
    values::MetricCursor cursor_;
    bool hasHistory_ = false;
    int numDrops_ = 0;
};

}  // namespace millrace::gui

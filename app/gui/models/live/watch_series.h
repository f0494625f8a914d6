#pragma once
// The curves of one run's metrics: stored history first, then what comes live, without a hole and
// without a point twice.
//
// History may be decimated (the least and greatest points of buckets). Then a part that somebody
// zooms into is replaced by exact points (refine), and wantsDetail() says whether that is worth a
// question. What comes live goes on behind the history's cursor: nothing is told twice. Where ranks
// differ a curve has a band: band() has its lower and upper edge beside the medians.
//
// Threads: the GUI thread. Owns: the stores; charts share them. Failure: none; a name nobody logged
// has no curve.
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
    /// What the store has, as metricRange gave it. Points that came live behind it stay.
    void setHistory(const values::MetricHistory& history);
    /// A delivery: first the drop, then the lines (live_values.h). True where a name is new.
    bool apply(std::optional<std::int64_t> dropAfterStep, std::span<const values::MetricLine> lines,
               const values::MetricNames& names);
    /// A value that telemetry told beside the run ("system.rank.cpu_percent"). True: a new name.
    bool addSample(const std::string& name, std::int64_t step, std::int64_t timeMs, double value);
    /// Exact (or finer) points of [fromStep, toStep].
    void refine(const values::MetricHistory& finer, std::int64_t fromStep, std::int64_t toStep);

    /// Forgets every point; the stores that charts share stay.
    void clear();
    bool hasHistory() const { return hasHistory_; }
    /// Where to follow from: behind the history.
    const values::MetricCursor& followFrom() const { return cursor_; }
    std::vector<std::string> names() const;
    /// Null where nobody logged it.
    std::shared_ptr<const CurveStore> curve(const std::string& name) const;
    /// Null where no point is of several ranks.
    std::shared_ptr<const CurveBand> band(const std::string& name) const;
    std::optional<CurvePoint> newest(const std::string& name) const;
    /// The points of a name that the daemon has in [fromStep, toStep] may be more than are here.
    bool wantsDetail(const std::string& name, std::int64_t fromStep, std::int64_t toStep) const;
    /// The steps whose points lie in [fromMs, toMs], over all curves of these names.
    struct Steps {
        std::int64_t from = 0, to = 0;
    };
    std::optional<Steps> stepsIn(const std::set<std::string>& names, CurveAxis axis, double from,
                                 double to) const;
    std::size_t bytesUsed() const;
    /// When a new attempt last voided points, and how often.
    int numDrops() const { return numDrops_; }

 private:
    struct Series {
        std::shared_ptr<CurveStore> store;
        std::shared_ptr<CurveBand> band;
        std::int64_t decimatedTo = 0;  ///< up to this step; 0: all points are here
        std::uint64_t numThinned = 0;  ///< by the store's bound, as far as noted
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

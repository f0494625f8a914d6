#pragma once
// What one run did over time, from its progress reports: spans of training, waiting for input,
// checkpoint, evaluating, standing still, idle (which is the start) and ending.
//
// A report says how long each phase has taken so far, all together up to its own time. What came
// between two reports is the difference of the two, laid out over that time; where a report lies on
// the axis is told by the sum of its parts, so that late reports distort nothing and the time in
// each phase over all spans is what was counted. What the store has of the time before the first
// report is read by the same rule; it has the reports that give the same strip
// (values::PhaseEdges). While a run does not get on, and does not wait for input, it stands still,
// whatever was counted. Time that no report covers stays empty: the strip never guesses.
//
// Bounded: beyond Options::numSpansMax the older half is merged by pairs of intervals; the time in
// each phase stays exact, only its order inside a merged interval is lost.
//
// Threads: the GUI thread. Owns: its spans. Failure: reports from the past are left out.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "app/gui/models/lane_phase.h"
#include "backend/values/metric_line.h"
#include "backend/values/run_summary.h"

namespace millrace::gui {

struct PhaseSpan {
    double fromMs = 0, toMs = 0;
    LanePhase phase = LanePhase::kIdle;
    bool operator==(const PhaseSpan&) const = default;
};

class LaneTracker {
 public:
    struct Options {
        std::size_t numSpansMax = 8'000;
    };
    /// What was counted up to a time.
    struct Point {
        double timeMs = 0;
        values::PhaseTimes times;
        int attempt = 0;
        double standingMs = 0;  ///< how long it has not got on, all together; part of `times`
        bool operator==(const Point&) const = default;
    };
    LaneTracker();
    explicit LaneTracker(const Options& options);

    /// The run as it is at `nowMs`; true where something changed.
    bool update(const values::RunSummary& run, std::int64_t nowMs);
    /// What happened before the first report: what is stored, by rising time (timePointsOf()).
    /// Again: in the place of what was given before.
    void setHistory(std::span<const Point> points);

    /// By rising time, without overlap.
    const std::vector<PhaseSpan>& spans() const { return spans_; }
    /// What goes on now and since when; nothing when the run waits in the queue or has ended.
    struct Open {
        double fromMs = 0;
        LanePhase phase = LanePhase::kIdle;
    };
    std::optional<Open> open() const { return open_; }
    /// Time in each phase over all spans, ms.
    std::array<double, kNumLanePhases> durations() const;
    /// Changes with every change of spans or of what goes on.
    std::uint64_t revision() const { return revision_; }

 private:
    /// Splits that follow each other in a cell (values::PhaseEdges): waiting, then training.
    struct Bucket {
        std::size_t firstSpan = 0;
        double fromMs = 0, toMs = 0, waitingMs = 0;
    };
    void startAttempt(const values::RunSummary& run);
    void take(const values::Progress& progress, std::int64_t timeMs);
    void takeEnd(const values::RunSummary& run);
    void takePoint(Point to, values::Phase after);
    void follow(const values::RunSummary& run, std::int64_t nowMs);
    void stand(const values::RunSummary& run, std::int64_t nowMs);
    double addCounted(double fromMs, const values::PhaseTimes& counted, values::Phase after);
    bool continues(LanePhase phase, double fromMs, double ms) const;
    void addSplit(double fromMs, double toMs, double waitingMs);
    void addToCell(double fromMs, double toMs, double waitingMs);
    void add(double fromMs, double toMs, LanePhase phase);
    void openAs(LanePhase phase, double fromMs);
    void endAt(double timeMs);
    void keepBounded();
    void mergeOlder();

    Options options_;
    std::vector<PhaseSpan> spans_;
    std::optional<Bucket> bucket_;
    std::optional<Open> open_;
    std::optional<Point> first_;                     // where what was reported here begins
    std::optional<Point> last_;                      // the newest report, as it lies on the strip
    values::Phase phase_ = values::Phase::kUnknown;  // that it told
    std::int64_t reportMs_ = 0;                      // its time as it was told
    values::RunState state_ = values::RunState::kUnknown;
    int attempt_ = 0;
    bool hasHistory_ = false;
    std::uint64_t revision_ = 0;
};

/// What the store has of a run's, or of a rank's, times (values::metric::kSystemTimes and
/// kSystemStandingMs), whichever points of them were kept.
std::vector<LaneTracker::Point> timePointsOf(const values::MetricHistory& history);

}  // namespace millrace::gui

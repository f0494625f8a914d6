#pragma once
// LaneTracker: the activity of one run over time, from its progress reports: spans of training,
// waiting for data, checkpoint, evaluating, stalled, idle (which is the start) and ending.
//
// A report contains the time spent in each phase so far; their sum is the report's own time. The
// difference of two reports is laid out over the time between them. The sum of its parts places a
// report on the axis, so that late reports distort nothing and the total of each phase is exact.
// Stored data from before the first report follows the same rule; the store keeps those reports
// that give the same strip (values::PhaseEdges). A run that makes no progress and does not wait for
// input stands still, whatever was counted. Time without reports stays empty: the strip never
// guesses.
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
    /// The times counted up to a moment.
    struct Point {
        double timeMs = 0;
        values::PhaseTimes times;
        int attempt = 0;
        double standingMs = 0;  ///< total time without progress; part of `times`
        bool operator==(const Point&) const = default;
    };
    LaneTracker();
    explicit LaneTracker(const Options& options);

    /// Takes the run as it is at `nowMs`; returns true if something changed.
    bool update(const values::RunSummary& run, std::int64_t nowMs);
    /// Sets the stored history before the first report, by rising time (timePointsOf()). A second
    /// call replaces the first.
    void setHistory(std::span<const Point> points);

    /// By rising time, without overlap.
    const std::vector<PhaseSpan>& spans() const { return spans_; }
    /// The present phase and its start; nothing if the run is queued or has ended.
    struct Open {
        double fromMs = 0;
        LanePhase phase = LanePhase::kIdle;
    };
    std::optional<Open> open() const { return open_; }
    /// Time in each phase over all spans, ms.
    std::array<double, kNumLanePhases> durations() const;
    /// Changes with every change of the spans or of the present phase.
    std::uint64_t revision() const { return revision_; }

 private:
    /// Consecutive splits in a cell (values::PhaseEdges): waiting, then training.
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
    std::optional<Point> first_;                     // where the reports received here begin
    std::optional<Point> last_;                      // the newest report, at its position on the
                                                     // strip
    values::Phase phase_ = values::Phase::kUnknown;  // in the newest report
    std::int64_t reportMs_ = 0;                      // the time in the newest report
    values::RunState state_ = values::RunState::kUnknown;
    int attempt_ = 0;
    bool hasHistory_ = false;
    std::uint64_t revision_ = 0;
};

/// The stored times of a run or of a rank (values::metric::kSystemTimes and kSystemStandingMs),
/// whichever points of them were kept.
std::vector<LaneTracker::Point> timePointsOf(const values::MetricHistory& history);

}  // namespace millrace::gui

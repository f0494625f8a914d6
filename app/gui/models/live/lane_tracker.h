#pragma once
// What one run did over time, from its progress reports: spans of training, waiting for input,
// checkpoint, evaluating, standing still and idle.
//
// A report says what the rank does from then on, and how long it computed and waited for data. The
// time between two reports belongs to the first one's phase when that was a checkpoint or an
// evaluation; else it is split into waiting and training by what the second one counted. Workers
// count either since the attempt began or since their last report: whichever fits the time that
// passed is taken. While a run does not get on, and does not wait for input, it stands still,
// whatever it said last. Time that no report covers stays empty: the strip never guesses.
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
    LaneTracker();
    explicit LaneTracker(const Options& options);

    /// The run as it is at `nowMs`; true where something changed.
    bool update(const values::RunSummary& run, std::int64_t nowMs);
    /// What happened before the first report, from stored "input_stall_percent" points (times
    /// rising) and the times of evaluations' results. Each point covers the time since the one
    /// before, up to a second and a half, or a few times the usual distance of points that were
    /// thinned out.
    struct StallPoint {
        double timeMs = 0, percent = 0;
    };
    void setHistory(std::span<const StallPoint> stalls, std::span<const double> evaluationsMs,
                    bool isThinned = false);

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
    struct Counted {
        double busyMs = 0, stallMs = 0;
        double sum() const { return busyMs + stallMs; }
    };
    /// Splits that follow each other within a second are one: waiting, then training.
    struct Bucket {
        std::size_t firstSpan = 0;
        double fromMs = 0, toMs = 0, waitingMs = 0;
    };
    void startAttempt(const values::RunSummary& run, std::int64_t nowMs);
    void take(const values::Progress& progress);
    void takeFirst(const values::Progress& progress);
    void follow(const values::RunSummary& run, std::int64_t nowMs);
    void stand(const values::RunSummary& run, std::int64_t nowMs);
    std::optional<Counted> countedSince(const values::Progress& progress, double passedMs) const;
    void addSplit(double fromMs, double toMs, const Counted& counted);
    void add(double fromMs, double toMs, LanePhase phase);
    void openAs(LanePhase phase, double fromMs);
    void endAt(double timeMs);
    void mergeOlder();

    Options options_;
    std::vector<PhaseSpan> spans_;
    std::optional<Bucket> bucket_;
    std::optional<Open> open_;
    std::optional<values::Progress> last_;
    values::RunState state_ = values::RunState::kUnknown;
    int attempt_ = 0;
    std::uint64_t revision_ = 0;
};

/// Of a stored "input_stall_percent".
std::vector<LaneTracker::StallPoint> stallsOf(const values::MetricSeries& series);

}  // namespace millrace::gui

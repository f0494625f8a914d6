#include "app/gui/models/live/lane_tracker.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace millrace::gui {
namespace {

using values::Phase;
using values::RunState;

constexpr double kBucketMs = 1'000;
// A clock may jitter, a report may come late: what is missing by so little belongs to the interval.
constexpr double kSlackMs = 1'000;
constexpr double kHistoryStepMs = 1'500;  // the window of the trainer's rates, and its jitter
constexpr double kThinnedSteps = 4;

bool isPause(Phase phase) {
    return phase == Phase::kCheckpoint || phase == Phase::kEvaluating || phase == Phase::kEnding;
}

// From here on the trainer logged no rate: it paused. Points of a long run were thinned out.
double longestStep(std::span<const LaneTracker::StallPoint> stalls) {
    std::vector<double> steps;
    for (std::size_t i = 1; i < stalls.size(); ++i) {
        steps.push_back(stalls[i].timeMs - stalls[i - 1].timeMs);
    }
    if (steps.empty()) {
        return kHistoryStepMs;
    }
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::nth_element(steps.begin(), middle, steps.end());
    return std::max(kHistoryStepMs, kThinnedSteps * *middle);
}

LanePhase lanePhaseOf(Phase phase) {
    switch (phase) {
        case Phase::kWaiting:
            return LanePhase::kWaiting;
        case Phase::kCheckpoint:
            return LanePhase::kCheckpoint;
        case Phase::kEvaluating:
            return LanePhase::kEvaluating;
        case Phase::kEnding:
            return LanePhase::kIdle;
        default:
            return LanePhase::kTraining;
    }
}

}  // namespace

std::vector<LaneTracker::StallPoint> stallsOf(const values::MetricSeries& series) {
    std::vector<LaneTracker::StallPoint> stalls;
    for (const values::MetricPoint& point : series.points) {
        stalls.push_back({static_cast<double>(point.timeMs), point.value});
    }
    return stalls;
}

LaneTracker::LaneTracker() : LaneTracker(Options{}) {}

LaneTracker::LaneTracker(const Options& options) : options_(options) {
    options_.numSpansMax = std::max<std::size_t>(options_.numSpansMax, 64);
}

bool LaneTracker::update(const values::RunSummary& run, std::int64_t nowMs) {
    const std::uint64_t before = revision_;
    if (run.attempt != attempt_) {
        startAttempt(run, nowMs);
    }
    const bool isNew = run.progress.timeMs > 0 && (!last_ || run.progress.timeMs > last_->timeMs);
    if (isNew && run.state != RunState::kQueued) {
        take(run.progress);
    }
    follow(run, nowMs);
    state_ = run.state;
    if (spans_.size() > options_.numSpansMax) {
        mergeOlder();
    }
    return revision_ != before;
}

void LaneTracker::startAttempt(const values::RunSummary& run, std::int64_t nowMs) {
    endAt(static_cast<double>(nowMs));
    // The summary may still carry the report of the attempt before.
    last_.reset();
    if (attempt_ != 0) {
        last_ = run.progress;
        last_->phase = Phase::kUnknown;
        last_->busyMs = last_->stallMs = 0;
    }
    attempt_ = run.attempt;
}

void LaneTracker::take(const values::Progress& progress) {
    if (open_ && open_->phase == LanePhase::kStanding) {
        add(open_->fromMs, static_cast<double>(progress.timeMs), LanePhase::kStanding);
    } else if (!last_ || last_->phase == Phase::kUnknown) {
        takeFirst(progress);
    } else {
        const auto from = static_cast<double>(last_->timeMs);
        const auto to = static_cast<double>(progress.timeMs);
        const std::optional<Counted> counted = countedSince(progress, to - from);
        if (isPause(last_->phase)) {
            const double waited = counted ? std::min(counted->stallMs, to - from) : 0;
            add(from, to - waited, lanePhaseOf(last_->phase));
            add(to - waited, to, LanePhase::kWaiting);
        } else if (counted) {
            const double missing = to - from - counted->sum();
            addSplit(missing > kSlackMs ? to - counted->sum() : from, to, *counted);
        } else {
            add(from, to, lanePhaseOf(last_->phase));
        }
    }
    last_ = progress;
    open_.reset();
    openAs(lanePhaseOf(progress.phase), static_cast<double>(progress.timeMs));
}

// Before the first report the workers were starting; what it counted already happened after that.
void LaneTracker::takeFirst(const values::Progress& progress) {
    if (!open_) {
        return;  // somebody else's history
    }
    const auto to = static_cast<double>(progress.timeMs);
    const Counted counted{std::max(0.0, progress.busyMs), std::max(0.0, progress.stallMs)};
    const double covered = std::clamp(counted.sum(), 0.0, std::max(0.0, to - open_->fromMs));
    add(open_->fromMs, to - covered, LanePhase::kIdle);
    if (covered > 0) {
        addSplit(to - covered, to, counted);
    }
}

// What goes on from here, by the state of the run.
void LaneTracker::follow(const values::RunSummary& run, std::int64_t nowMs) {
    const auto now = static_cast<double>(nowMs);
    switch (run.state) {
        case RunState::kFinished:
        case RunState::kFailed:
        case RunState::kCancelled:
            endAt(run.endedMs > 0 ? static_cast<double>(run.endedMs) : now);
            return;
        case RunState::kQueued:
        case RunState::kUnknown:
            endAt(now);
            return;
        case RunState::kStarting:
        case RunState::kRunning:
            if (!open_) {
                const bool isFirst = run.attempt <= 1 && run.startedMs > 0;
                openAs(LanePhase::kIdle, isFirst ? static_cast<double>(run.startedMs) : now);
            }
            return stand(run, nowMs);
        case RunState::kStopping:
            if (state_ != RunState::kStopping && open_ && open_->phase != LanePhase::kCheckpoint) {
                endAt(now);
            }
            if (!open_) {
                openAs(LanePhase::kIdle, now);
            }
            return;
    }
}

// From when it has not got on, as far as that is not told yet.
void LaneTracker::stand(const values::RunSummary& run, std::int64_t nowMs) {
    const bool stands = run.isStalled() && run.progress.phase != Phase::kWaiting;
    if (!stands || open_->phase == LanePhase::kStanding) {
        return;
    }
    const double latest = std::max(open_->fromMs, static_cast<double>(nowMs));
    const double since = std::clamp(static_cast<double>(run.standsSinceMs), open_->fromMs, latest);
    add(open_->fromMs, since, open_->phase);
    openAs(LanePhase::kStanding, since);
}

std::optional<LaneTracker::Counted> LaneTracker::countedSince(const values::Progress& progress,
                                                              double passedMs) const {
    const Counted interval{progress.busyMs, progress.stallMs};
    const Counted delta{progress.busyMs - last_->busyMs, progress.stallMs - last_->stallMs};
    const bool isRising = delta.busyMs >= -1 && delta.stallMs >= -1 && delta.sum() > 0;
    const bool isCounted = interval.busyMs >= 0 && interval.stallMs >= 0 && interval.sum() > 0;
    const bool fitsDelta = isRising && (!isCounted || std::abs(delta.sum() - passedMs) <=
                                                          std::abs(interval.sum() - passedMs));
    if (!fitsDelta && !isCounted) {
        return std::nullopt;
    }
    const Counted& fitting = fitsDelta ? delta : interval;
    return Counted{std::max(0.0, fitting.busyMs), std::max(0.0, fitting.stallMs)};
}

void LaneTracker::addSplit(double fromMs, double toMs, const Counted& counted) {
    if (!(toMs > fromMs)) {
        return;
    }
    const double waiting = (toMs - fromMs) * counted.stallMs / counted.sum();
    const bool continues =
        bucket_ && bucket_->toMs == fromMs && toMs - bucket_->fromMs <= kBucketMs;
    if (continues) {
        spans_.resize(bucket_->firstSpan);
        bucket_->toMs = toMs;
        bucket_->waitingMs += waiting;
    } else {
        bucket_ = Bucket{spans_.size(), fromMs, toMs, waiting};
    }
    const Bucket bucket = *bucket_;
    const double edge = bucket.fromMs + bucket.waitingMs;
    if (bucket.waitingMs > 0) {
        spans_.push_back({bucket.fromMs, edge, LanePhase::kWaiting});
    }
    if (edge < bucket.toMs) {
        spans_.push_back({edge, bucket.toMs, LanePhase::kTraining});
    }
    ++revision_;
}

void LaneTracker::add(double fromMs, double toMs, LanePhase phase) {
    if (!spans_.empty()) {
        fromMs = std::max(fromMs, spans_.back().toMs);
    }
    if (!(toMs > fromMs)) {
        return;
    }
    if (!spans_.empty() && spans_.back().phase == phase && spans_.back().toMs == fromMs) {
        spans_.back().toMs = toMs;
    } else {
        spans_.push_back({fromMs, toMs, phase});
    }
    bucket_.reset();
    ++revision_;
}

void LaneTracker::openAs(LanePhase phase, double fromMs) {
    if (!spans_.empty()) {
        fromMs = std::max(fromMs, spans_.back().toMs);
    }
    open_ = Open{fromMs, phase};
    ++revision_;
}

void LaneTracker::endAt(double timeMs) {
    if (!open_) {
        return;
    }
    add(open_->fromMs, timeMs, open_->phase);
    open_.reset();
    ++revision_;
}

void LaneTracker::setHistory(std::span<const StallPoint> stalls,
                             std::span<const double> evaluationsMs, bool isThinned) {
    const double border = !spans_.empty() ? spans_.front().fromMs
                          : open_         ? open_->fromMs
                                          : std::numeric_limits<double>::infinity();
    const double stepMax = isThinned ? longestStep(stalls) : kHistoryStepMs;
    std::vector<PhaseSpan> known = std::move(spans_);
    spans_.clear();
    bucket_.reset();
    for (std::size_t i = 1; i < stalls.size(); ++i) {
        const double from = stalls[i - 1].timeMs, to = std::min(stalls[i].timeMs, border);
        if (to - from > stepMax) {
            // The trainer logs no rate while it pauses; a result in between says what for.
            const auto result = std::lower_bound(evaluationsMs.begin(), evaluationsMs.end(), from);
            if (result != evaluationsMs.end() && *result <= to) {
                add(from, *result, LanePhase::kEvaluating);
            }
            continue;
        }
        const double share = std::clamp(stalls[i].percent, 0.0, 100.0);
        addSplit(from, to, {100 - share, share});
    }
    spans_.insert(spans_.end(), known.begin(), known.end());
    bucket_.reset();
    ++revision_;
    while (spans_.size() > options_.numSpansMax) {
        const std::size_t before = spans_.size();
        mergeOlder();
        if (spans_.size() == before) {
            break;
        }
    }
}

std::array<double, kNumLanePhases> LaneTracker::durations() const {
    std::array<double, kNumLanePhases> sums{};
    for (const PhaseSpan& span : spans_) {
        sums[static_cast<std::size_t>(span.phase)] += span.toMs - span.fromMs;
    }
    return sums;
}

// The older half becomes half as many spans: neighbours without a hole between them are laid
// together over a time of `width`, their phases one after the other.
void LaneTracker::mergeOlder() {
    const std::size_t numOld = spans_.size() / 2;
    const double width = (spans_[numOld - 1].toMs - spans_[0].fromMs) /
                         static_cast<double>(numOld) * 2 * kNumLanePhases;
    std::vector<PhaseSpan> merged;
    for (std::size_t i = 0; i < numOld;) {
        std::array<double, kNumLanePhases> sums{};
        const double from = spans_[i].fromMs;
        double to = from;
        while (i < numOld && (to == from || (spans_[i].fromMs == to && to - from < width))) {
            sums[static_cast<std::size_t>(spans_[i].phase)] += spans_[i].toMs - spans_[i].fromMs;
            to = spans_[i++].toMs;
        }
        for (double at = from; std::size_t phase : {1U, 0U, 2U, 3U, 4U, 5U}) {
            if (sums[phase] > 0) {
                merged.push_back({at, at + sums[phase], static_cast<LanePhase>(phase)});
                at += sums[phase];
            }
        }
        merged.back().toMs = to;
    }
    merged.insert(merged.end(), spans_.begin() + static_cast<std::ptrdiff_t>(numOld), spans_.end());
    spans_ = std::move(merged);
    bucket_.reset();
    ++revision_;
}

}  // namespace millrace::gui

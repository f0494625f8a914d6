#include "app/gui/models/live/lane_tracker.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "backend/values/metric_names.h"
#include "backend/values/phase_edges.h"

namespace millrace::gui {
namespace {

using values::Phase;
using values::PhaseTimes;
using values::RunState;

constexpr auto kCellMs = static_cast<double>(values::PhaseEdges::kCellMs);
// Smaller differences between a report's time and its counted time are due to its delivery.
constexpr double kSlackMs = 1'000;
// The daemon stores one point per cell, and more at the start and end of pauses.
constexpr double kStoredMs = 1.5 * kCellMs;
// A shorter standstill is an artefact of interpolation between stored points.
constexpr double kLeastMs = 50;
// After a longer gap, the machine slept, or its clock was set.
constexpr double kSleepMs = 60'000;

LanePhase lanePhaseOf(Phase phase) {
    switch (phase) {
        case Phase::kWaiting:
            return LanePhase::kWaiting;
        case Phase::kCheckpoint:
            return LanePhase::kCheckpoint;
        case Phase::kEvaluating:
            return LanePhase::kEvaluating;
        case Phase::kEnding:
            return LanePhase::kEnding;
        case Phase::kUnknown:
            return LanePhase::kIdle;
        default:
            return LanePhase::kTraining;
    }
}

// Between two stored points the part is taken to grow evenly.
double valueAt(const std::vector<values::MetricPoint>& points, double timeMs) {
    const auto after = std::lower_bound(
        points.begin(), points.end(), timeMs,
        [](const auto& point, double time) { return static_cast<double>(point.timeMs) < time; });
    if (after == points.end() || after == points.begin()) {
        return points.empty() ? 0 : after == points.end() ? points.back().value : after->value;
    }
    const auto before = after - 1;
    const auto from = static_cast<double>(before->timeMs), to = static_cast<double>(after->timeMs);
    return before->value + (after->value - before->value) * (timeMs - from) / (to - from);
}

// Subtracts a standstill, which was also counted as other phases. Returns the time subtracted.
double takeOut(double standingMs, PhaseTimes& counted) {
    double left = standingMs < kLeastMs ? 0 : standingMs;
    const double before = left;
    for (const auto part : PhaseTimes::parts()) {
        const double ms = std::min(left, counted.*part);
        counted.*part -= ms;
        left -= ms;
    }
    return before - left;
}

}  // namespace

std::vector<LaneTracker::Point> timePointsOf(const values::MetricHistory& history) {
    constexpr std::size_t kNumTimes = values::metric::kSystemTimes.size();
    std::array<std::vector<values::MetricPoint>, kNumTimes + 1> parts;
    std::map<double, int> times;  // attempt by time
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string_view key =
            i < kNumTimes ? values::metric::kSystemTimes[i] : values::metric::kSystemStandingMs;
        for (const values::MetricSeries& series : history.series) {
            if (series.key == key) {
                parts[i] = series.points;
            }
        }
        std::ranges::stable_sort(parts[i],
                                 [](const auto& a, const auto& b) { return a.timeMs < b.timeMs; });
        for (const values::MetricPoint& point : parts[i]) {
            times[static_cast<double>(point.timeMs)] = point.attempt;
        }
    }
    std::vector<LaneTracker::Point> points;
    for (const auto& [timeMs, attempt] : times) {
        LaneTracker::Point point{timeMs, {}, attempt, valueAt(parts[kNumTimes], timeMs)};
        for (std::size_t i = 0; i < kNumTimes; ++i) {
            point.times.*PhaseTimes::parts()[i] = valueAt(parts[i], timeMs);
        }
        points.push_back(point);
    }
    return points;
}

LaneTracker::LaneTracker() : LaneTracker(Options{}) {}

LaneTracker::LaneTracker(const Options& options) : options_(options) {
    options_.numSpansMax = std::max<std::size_t>(options_.numSpansMax, 64);
}

bool LaneTracker::update(const values::RunSummary& run, std::int64_t nowMs) {
    const std::uint64_t before = revision_;
    if (run.attempt != attempt_) {
        startAttempt(run);
    }
    if (values::isEnded(run.state)) {
        takeEnd(run);
    } else if (run.progress.timeMs > reportMs_ && run.state != RunState::kQueued) {
        take(run.progress, run.progress.timeMs);
    }
    follow(run, nowMs);
    state_ = run.state;
    keepBounded();
    return revision_ != before;
}

// Time that no rank reported before its attempt was lost counts as start.
void LaneTracker::startAttempt(const values::RunSummary& run) {
    if (open_) {
        openAs(LanePhase::kIdle, open_->fromMs);
    }
    attempt_ = run.attempt;
    phase_ = Phase::kUnknown;
}

void LaneTracker::take(const values::Progress& progress, std::int64_t timeMs) {
    reportMs_ = timeMs;
    auto openMs = static_cast<double>(timeMs);
    if (progress.times) {
        takePoint({openMs, *progress.times, attempt_}, progress.phase);
        openMs = last_->timeMs;
    } else if (open_) {
        add(open_->fromMs, openMs, open_->phase);
    }
    phase_ = progress.phase;
    open_.reset();
    openAs(lanePhaseOf(phase_), openMs);
}

// The final report carries the counters up to the end.
void LaneTracker::takeEnd(const values::RunSummary& run) {
    if (run.progress.times && run.endedMs > 0 && (open_ || !last_)) {
        takePoint({static_cast<double>(run.endedMs), *run.progress.times, attempt_}, phase_);
        open_ = open_ ? std::optional(Open{last_->timeMs, open_->phase}) : std::nullopt;
    }
}

// Appends a report after the one before by the time counted in between, however late it came. Only
// an attempt's first report may leave a gap: the run was stopped before.
void LaneTracker::takePoint(Point to, Phase after) {
    if (!last_ && !open_) {
        first_ = last_ = to;  // an earlier viewer's history
        return;
    }
    if (open_ && open_->phase == LanePhase::kStanding) {
        add(open_->fromMs, to.timeMs, LanePhase::kStanding);
        first_ = first_ ? first_ : to;
        last_ = to;
        return;
    }
    const bool isAnew = !last_ || to.times.sum() < last_->times.sum() - kSlackMs;
    PhaseTimes counted = isAnew ? to.times : to.times - last_->times;
    for (const auto part : PhaseTimes::parts()) {
        counted.*part = std::max(0.0, counted.*part);
    }
    const double late = isAnew ? 0 : to.timeMs - last_->timeMs - counted.sum();
    const bool isFirst = isAnew || last_->attempt != to.attempt;
    const bool isElsewhere = isAnew || late > (isFirst ? kSlackMs : kSleepMs);
    const double from = isElsewhere ? to.timeMs - counted.sum() : last_->timeMs;
    first_ = first_ ? first_ : Point{from, {}, to.attempt};
    if (isAnew && open_) {
        add(open_->fromMs, from, LanePhase::kIdle);
    }
    const double stoodMs = isAnew ? 0 : takeOut(to.standingMs - last_->standingMs, counted);
    to.timeMs = addCounted(from, counted, after) + stoodMs;
    add(to.timeMs - stoodMs, to.timeMs, LanePhase::kStanding);
    last_ = to;
}

// Opens or closes the present span, by the state of the run.
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
            if (!open_) {
                openAs(LanePhase::kIdle, now);
            }
            return;
    }
}

// Marks the time since the last progress as a standstill, unless already reported.
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

// Returns the end. The order is: start, a pause that continues, waiting and training, a pause that
// began, ending.
double LaneTracker::addCounted(double fromMs, const PhaseTimes& counted, Phase after) {
    double at = fromMs;
    const auto lay = [&](double ms, LanePhase phase) {
        add(at, at + ms, phase);
        at += ms;
    };
    const auto evaluate = [&] { lay(counted.evaluateMs, LanePhase::kEvaluating); };
    const auto checkpoint = [&] { lay(counted.checkpointMs, LanePhase::kCheckpoint); };
    const bool isStored = after == Phase::kUnknown;
    const auto was = [&](Phase phase) {
        return isStored ? continues(lanePhaseOf(phase), fromMs, counted.sum())
                        : phase_ == phase && after != phase;
    };
    const bool wasEvaluating = was(Phase::kEvaluating), wasWriting = was(Phase::kCheckpoint);
    lay(counted.startMs, LanePhase::kIdle);
    if (wasEvaluating) {
        evaluate();
    }
    if (wasWriting) {
        checkpoint();
    }
    const double steps = counted.stallMs + counted.busyMs;
    addSplit(at, at + steps, counted.stallMs);
    at += steps;
    if (!wasWriting && after != Phase::kCheckpoint) {
        checkpoint();
    }
    if (!wasEvaluating) {
        evaluate();
    }
    if (after == Phase::kCheckpoint) {
        checkpoint();
    }
    lay(counted.endingMs, LanePhase::kEnding);
    return at;
}

// Stored points do not tell in which phase they fall. A pause at the end of the last interval
// continues in the next one, of `ms`, if both are short or the pause is the longer one.
bool LaneTracker::continues(LanePhase phase, double fromMs, double ms) const {
    if (spans_.empty() || spans_.back().phase != phase || spans_.back().toMs < fromMs) {
        return false;
    }
    return ms <= kStoredMs || ms <= spans_.back().toMs - spans_.back().fromMs;
}

// Spreads waiting and training evenly over the cells; points further apart than some cells were
// thinned out.
void LaneTracker::addSplit(double fromMs, double toMs, double waitingMs) {
    double left = spans_.empty() ? fromMs : std::max(fromMs, spans_.back().toMs);
    const double share = waitingMs / (toMs - fromMs);
    const bool isThinned = toMs - left > 4 * kCellMs;
    while (left < toMs) {
        const double edge = (std::floor(left / kCellMs) + 1) * kCellMs;
        const double right = isThinned ? toMs : std::min(toMs, edge);
        addToCell(left, right, share * (right - left));
        left = right;
    }
}

void LaneTracker::addToCell(double fromMs, double toMs, double waitingMs) {
    const bool continues = bucket_ && bucket_->toMs == fromMs &&
                           std::floor(bucket_->fromMs / kCellMs) == std::floor(fromMs / kCellMs);
    if (continues) {
        spans_.resize(bucket_->firstSpan);
        bucket_->toMs = toMs;
        bucket_->waitingMs += waitingMs;
    } else {
        bucket_ = Bucket{spans_.size(), fromMs, toMs, waitingMs};
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

void LaneTracker::setHistory(std::span<const Point> points) {
    if (hasHistory_ || (points.empty() && !first_)) {
        return;
    }
    hasHistory_ = true;
    LaneTracker stored(options_);
    stored.last_ = Point{points.empty() ? first_->timeMs : points.front().timeMs};
    stored.last_->timeMs -= (points.empty() ? *first_ : points.front()).times.sum();
    for (const Point& point : points) {
        if (!first_ || point.timeMs < first_->timeMs) {
            stored.takePoint(point, Phase::kUnknown);
        }
    }
    if (first_) {
        stored.takePoint(*first_, Phase::kUnknown);
    }
    const std::vector<PhaseSpan> known = std::exchange(spans_, std::move(stored.spans_));
    for (const PhaseSpan& span : known) {
        add(span.fromMs, span.toMs, span.phase);
    }
    bucket_.reset();
    ++revision_;
    keepBounded();
}

void LaneTracker::keepBounded() {
    for (std::size_t before = 0; spans_.size() > options_.numSpansMax && spans_.size() != before;) {
        before = spans_.size();
        mergeOlder();
    }
}

std::array<double, kNumLanePhases> LaneTracker::durations() const {
    std::array<double, kNumLanePhases> sums{};
    for (const PhaseSpan& span : spans_) {
        sums[static_cast<std::size_t>(span.phase)] += span.toMs - span.fromMs;
    }
    return sums;
}

// Halves the number of spans in the older half: neighbours without a gap are merged over a time of
// `width`, their phases one after the other.
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
        for (double at = from; std::size_t phase : {1U, 0U, 2U, 3U, 4U, 5U, 6U}) {
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

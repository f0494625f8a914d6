#include "app/session/run_progress.h"

#include <algorithm>

#include "backend/values/metric_names.h"

namespace millrace::session {
namespace {

constexpr std::int64_t kPaceSpanMs = 30'000;

}  // namespace

bool isGoing(const values::RunSummary& run) {
    return !values::isEnded(run.state) && run.state != values::RunState::kQueued;
}

std::optional<double> shareDone(const values::RunSummary& run) {
    if (run.state == values::RunState::kFinished) {
        return 1.0;
    }
    if (run.progress.stepsTotal <= 0) {
        return std::nullopt;
    }
    return std::clamp(
        static_cast<double>(run.progress.step) / static_cast<double>(run.progress.stepsTotal), 0.0,
        1.0);
}

double elapsedSeconds(const values::RunSummary& run, std::int64_t nowMs) {
    if (run.startedMs <= 0) {
        return 0;
    }
    const std::int64_t end = run.endedMs > 0 ? run.endedMs : nowMs;
    return static_cast<double>(std::max<std::int64_t>(0, end - run.startedMs)) / 1e3;
}

void RunProgress::note(const values::RunSummary& run, std::int64_t nowMs) {
    noteReport(run);
    notePace(run.progress);
    rateAge_.note(run, nowMs);
}

void RunProgress::notePace(const values::Progress& report) {
    if (report.step <= 0 || report.timeMs <= 0) {
        return;
    }
    if (!pace_.empty() && report.step < pace_.back().second) {
        pace_.clear();  // a new attempt from a checkpoint
    }
    if (pace_.empty() || pace_.back().first < report.timeMs) {
        pace_.emplace_back(report.timeMs, report.step);
    }
    while (pace_.size() > 2 && pace_.front().first < report.timeMs - kPaceSpanMs) {
        pace_.pop_front();
    }
}

void RunProgress::noteReport(const values::RunSummary& run) {
    const std::int64_t lastMs = newest_ ? newest_->timeMs : 0;
    if (run.attempt != attempt_) {
        before_.reset();
        attempt_ = run.attempt;
        attemptFromMs_ = lastMs;  // `run` may still carry it
    } else if (run.progress.timeMs > lastMs) {
        before_ = lastMs > attemptFromMs_ ? newest_ : std::nullopt;
    }
    newest_ = run.progress;
}

std::optional<double> RunProgress::stepsPerSecond() const {
    if (pace_.size() < 2) {
        return std::nullopt;
    }
    const double seconds = static_cast<double>(pace_.back().first - pace_.front().first) / 1e3;
    const auto steps = static_cast<double>(pace_.back().second - pace_.front().second);
    return seconds > 0 && steps > 0 ? std::optional(steps / seconds) : std::nullopt;
}

std::optional<double> RunProgress::secondsLeft(const values::RunSummary& run,
                                               std::int64_t nowMs) const {
    const values::Progress& report = run.progress;
    const std::optional<double> speed = stepsPerSecond();
    if (!speed || report.stepsTotal <= 0 || !isGoing(run) || rateAge_.isForecastVoid(run, nowMs)) {
        return std::nullopt;
    }
    return static_cast<double>(std::max<std::int64_t>(0, report.stepsTotal - report.step)) / *speed;
}

std::optional<double> RunProgress::stallPercent(const values::RunSummary& run) const {
    if (!isGoing(run)) {
        return std::nullopt;
    }
    if (before_ && newest_) {
        // Busy may shrink: a wait is known as one only when it is over.
        const double waited = newest_->stallMs - before_->stallMs;
        const double passed = waited + newest_->busyMs - before_->busyMs;
        if (waited >= 0 && passed > 0) {
            return std::min(100.0, 100 * waited / passed);
        }
    }
    return run.metric(values::metric::kInputStallPercent);
}

std::optional<double> RunProgress::oldRatesSeconds(const values::RunSummary& run,
                                                   std::int64_t nowMs) const {
    return isGoing(run) ? rateAge_.oldSeconds(run, nowMs) : std::nullopt;
}

}  // namespace millrace::session

#include "daemon/agent/times/recent_reports.h"

#include <algorithm>

namespace millrace::agent {
namespace {

// Reports come five times a second: for a minute, every other one is enough.
constexpr std::int64_t kApartMs = 400;

double passedOf(const values::PhaseTimes& passed) {
    return passed.sum() - passed.startMs - passed.endingMs;
}

}  // namespace

void RecentReports::note(const values::PhaseTimes& times, std::int64_t step, std::int64_t nowMs) {
    if (!reports_.empty()) {
        const Report& last = reports_.back();
        const bool isOther = step < last.step || times.sum() < last.times.sum();
        if (isOther || nowMs < last.timeMs) {
            reports_.clear();
        }
    }
    // The newest report is always the last one; the one before it is replaced if it is close to its
    // own predecessor.
    const std::size_t count = reports_.size();
    if (count >= 2 && reports_[count - 1].timeMs - reports_[count - 2].timeMs < kApartMs) {
        reports_.pop_back();
    }
    reports_.push_back({times, step, nowMs});
    while (reports_.size() > 2 && reports_[1].timeMs <= nowMs - kPaceMs) {
        reports_.pop_front();
    }
}

const RecentReports::Report& RecentReports::before(std::int64_t ageMs) const {
    const std::int64_t atMs = reports_.back().timeMs - ageMs;
    const auto found = std::find_if(reports_.rbegin(), reports_.rend(),
                                    [&](const Report& one) { return one.timeMs <= atMs; });
    return found == reports_.rend() ? reports_.front() : *found;
}

std::optional<double> RecentReports::stepsPerSecond() const {
    if (reports_.size() < 2) {
        return std::nullopt;
    }
    const Report &from = before(kPaceMs), &to = reports_.back();
    const double ms = passedOf(to.times - from.times);
    const auto steps = static_cast<double>(to.step - from.step);
    return ms > 0 && steps > 0 ? std::optional(1e3 * steps / ms) : std::nullopt;
}

std::optional<double> RecentReports::stallPercent() const {
    if (reports_.size() < 2) {
        return std::nullopt;
    }
    const values::PhaseTimes passed = reports_.back().times - before(kStallMs).times;
    const double ms = passedOf(passed);
    return ms > 0 ? std::optional(std::clamp(100 * passed.stallMs / ms, 0.0, 100.0)) : std::nullopt;
}

}  // namespace millrace::agent

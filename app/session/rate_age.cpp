#include "app/session/rate_age.h"

#include <algorithm>
#include <utility>

#include "backend/values/metric_names.h"

namespace millrace::session {
namespace {

constexpr std::int64_t kOldRatesMs = 5'000;
constexpr std::int64_t kOldReportMs = 15'000;

// Below 0 if the run has not reported any rates.
std::int64_t ratesTime(const values::RunSummary& run) {
    const values::RunFigure* rate = run.newest(values::metric::kSamplesPerSecond);
    return rate == nullptr ? -1 : rate->timeMs;
}

}  // namespace

std::optional<double> oldRateSeconds(const values::RunSummary& run, std::int64_t nowMs) {
    const std::int64_t ageMs = nowMs - ratesTime(run);
    const bool isOld = ratesTime(run) > 0 && !values::isEnded(run.state) && ageMs > kOldRatesMs;
    return isOld ? std::optional(static_cast<double>(ageMs) / 1e3) : std::nullopt;
}

void RateAge::note(const values::RunSummary& run, std::int64_t nowMs) {
    const std::int64_t rates = ratesTime(run);
    if (std::exchange(ratesMs_, rates) != rates) {
        ratesSeenMs_ = nowMs;
    }
    if (std::exchange(reportMs_, run.progress.timeMs) != run.progress.timeMs) {
        reportSeenMs_ = nowMs;
    }
}

std::optional<double> RateAge::oldSeconds(const values::RunSummary& run, std::int64_t nowMs) const {
    if (ratesMs_ < 0 || values::isEnded(run.state)) {
        return std::nullopt;  // there is nothing yet that could be old
    }
    // A reader that connects during a stall receives the rates only now: their age counts from the
    // start of the stall.
    const std::int64_t seenMs =
        run.isStalled() ? std::min(run.standsSinceMs, ratesSeenMs_) : ratesSeenMs_;
    const std::int64_t ageMs = nowMs - seenMs;
    return ageMs > kOldRatesMs ? std::optional(static_cast<double>(ageMs) / 1e3) : std::nullopt;
}

bool RateAge::isForecastVoid(const values::RunSummary& run, std::int64_t nowMs) const {
    return run.isStalled() || (reportMs_ >= 0 && nowMs - reportSeenMs_ > kOldReportMs);
}

}  // namespace millrace::session

#include "backend/train/step_meter.h"

#include <algorithm>

#include <time.h>

#include "backend/values/metric_names.h"

namespace millrace::train {
namespace {

namespace metric = values::metric;

constexpr std::int64_t kWindowNs = 500'000'000;
constexpr std::int64_t kRatesNs = 100'000'000;
constexpr double kSecondsMin = 0.02;  // below, a rate says nothing
constexpr std::int64_t kProgressNs = 200'000'000;
constexpr std::int64_t kQuietNs = 1'000'000'000;

std::int64_t processCpuNs() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1'000'000'000) + t.tv_nsec;
}

}  // namespace

StepMeter::StepMeter(const Clock& clock) : clock_(clock), startNs_(clock.steadyNs()) {
    restart(0);
}

StepMeter::Mark StepMeter::now(std::int64_t stallNs) const {
    return {clock_.steadyNs(), rows_, stallNs, processCpuNs()};
}

void StepMeter::restart(std::int64_t stallNs) {
    stallNs_ = std::max(stallNs_, stallNs);
    older_ = newer_ = now(stallNs_);
}

bool StepMeter::ratesDue() const {
    const std::int64_t time = clock_.steadyNs();
    return static_cast<double>(time - older_.timeNs) * 1e-9 >= kSecondsMin &&
           time - lastRatesNs_ >= kRatesNs;
}

void StepMeter::endStep(std::int64_t rows, std::int64_t stallNs, rank::Values& values) {
    rows_ += rows;
    stallNs_ = stallNs;
    const bool isDue = ratesDue();
    const Mark mark = now(stallNs);
    const double seconds = static_cast<double>(mark.timeNs - older_.timeNs) * 1e-9;
    if (isDue) {
        lastRatesNs_ = mark.timeNs;
        values[metric::kSamplesPerSecond] = static_cast<double>(mark.rows - older_.rows) / seconds;
        values[metric::kInputStallPercent] = std::clamp(
            static_cast<double>(mark.stallNs - older_.stallNs) * 1e-7 / seconds, 0.0, 100.0);
        values[metric::kTrainerCpuPercent] =
            static_cast<double>(mark.cpuNs - older_.cpuNs) * 1e-7 / seconds;
    }
    if (mark.timeNs - newer_.timeNs >= kWindowNs) {
        older_ = newer_;
        newer_ = mark;
    }
}

bool StepMeter::progressDue() {
    const std::int64_t time = clock_.steadyNs();
    if (lastProgressNs_ != 0 && time - lastProgressNs_ < kProgressNs) {
        return false;
    }
    lastProgressNs_ = time;
    return true;
}

bool StepMeter::isQuiet() {
    const std::int64_t time = clock_.steadyNs();
    if (time - std::max(lastProgressNs_, startNs_) < kQuietNs) {
        return false;
    }
    lastProgressNs_ = time;
    return true;
}

double StepMeter::stallMs() const {
    return static_cast<double>(stallNs_) * 1e-6;
}

double StepMeter::busyMs() const {
    return static_cast<double>(clock_.steadyNs() - startNs_) * 1e-6 - stallMs();
}

}  // namespace millrace::train

#include "backend/train/loop/step_meter.h"

#include <algorithm>

#include <time.h>

#include "backend/values/metric_names.h"

namespace millrace::train {
namespace {

namespace metric = values::metric;

constexpr std::int64_t kWindowNs = 500'000'000;
constexpr std::int64_t kRatesNs = 100'000'000;
constexpr double kSecondsMin = 0.02;  // shorter intervals give meaningless rates
constexpr std::int64_t kProgressNs = 200'000'000;
constexpr std::int64_t kQuietNs = 1'000'000'000;

std::int64_t processCpuNs() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1'000'000'000) + t.tv_nsec;
}

}  // namespace

StepMeter::StepMeter(const Clock& clock) : clock_(clock), startNs_(clock.steadyNs()) {
    restart();
}

StepMeter::Mark StepMeter::now() const {
    return {clock_.steadyNs(), rows_, steps_, processCpuNs(), times_};
}

// Adds the mean times over the window's steps.
void StepMeter::addParts(const Mark& from, const Mark& to, rank::Values& values) {
    const auto steps = static_cast<double>(to.steps - from.steps);
    const auto add = [&](const char* name, std::int64_t before, std::int64_t after) {
        values[name] = static_cast<double>(after - before) * 1e-6 / steps;
    };
    values[metric::kTrainerInputMs] = (to.times.phases - from.times.phases).stallMs / steps;
    const LearnerTimes &a = from.times.learner, &b = to.times.learner;
    add(metric::kTrainerForwardMs, a.forward, b.forward);
    add(metric::kTrainerBackwardMs, a.backward, b.backward);
    add(metric::kTrainerOptimizerMs, a.optimizer, b.optimizer);
    if (b.communication > 0) {
        add(metric::kTrainerCommunicationMs, a.communication, b.communication);
    }
}

// Leaves out the start: until its first batch a rank waits for more than data.
void StepMeter::addStall(rank::Values& values) {
    const values::PhaseTimes passed = times_.phases - told_;
    const double ms = passed.sum() - passed.startMs;
    if (ms > 0) {
        values[metric::kInputStallPercent] = 100 * passed.stallMs / ms;
        told_ = times_.phases;
    }
}

// True after the first step, however short it was: a run that ends at once has rates, too.
bool StepMeter::ratesDue() const {
    const std::int64_t time = clock_.steadyNs();
    if (lastRatesNs_ == 0) {
        return time > older_.timeNs;
    }
    return static_cast<double>(time - older_.timeNs) * 1e-9 >= kSecondsMin &&
           time - lastRatesNs_ >= kRatesNs;
}

void StepMeter::endStep(std::int64_t rows, const StepTimes& times, rank::Values& values) {
    rows_ += rows;
    ++steps_;
    times_ = times;
    const bool isDue = ratesDue();
    const Mark mark = now();
    const double seconds = static_cast<double>(mark.timeNs - older_.timeNs) * 1e-9;
    if (isDue) {
        lastRatesNs_ = mark.timeNs;
        values[metric::kSamplesPerSecond] = static_cast<double>(mark.rows - older_.rows) / seconds;
        addStall(values);
        values[metric::kTrainerCpuPercent] =
            static_cast<double>(mark.cpuNs - older_.cpuNs) * 1e-7 / seconds;
        addParts(older_, mark, values);
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

}  // namespace millrace::train

#include "daemon/worker/loader/feed/figures.h"

#include <utility>

#include "backend/core/clock.h"
#include "backend/values/metric_names.h"
#include "daemon/worker/loader/feed/account.h"
#include "daemon/worker/loader/process.h"

namespace millrace::loader {
namespace {

namespace metric = values::metric;

constexpr std::chrono::seconds kEvery{1};
constexpr std::chrono::seconds kAccountEvery{10};

}  // namespace

bool FeedFigures::isDue() const {
    return SteadyClock::now() - last_ >= kEvery;
}

void FeedFigures::send(const Producer* train, SegmentsElsewhere* elsewhere,
                       const frame::FrameLayout* layout, bool isLast) {
    const auto now = SteadyClock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    const std::int64_t read = counters_.read(segment::Stage::kRead).rows;
    const std::int64_t kept = counters_.read(segment::Stage::kRecipe).rows;
    const double cpu = cpuSeconds();
    rank::Metrics metrics;
    metrics.timeMs = SystemClock().wallMs();
    if (train != nullptr) {
        const segment::SequencerTotals totals = train->totals();
        metrics.epoch = train->position().epoch;
        metrics.step = totals.microBatches / job_.spec.microBatchesPerStep();
        metrics.rows = totals.rowsDelivered;
    }
    metrics.values = {
        {metric::kLoaderRowsReadPerSecond, static_cast<double>(read - lastRead_) / seconds},
        {metric::kLoaderRowsKeptPerSecond, static_cast<double>(kept - lastKept_) / seconds},
        {metric::kLoaderCpuPercent, 100 * (cpu - lastCpu_) / seconds}};
    stages_.add(seconds, isLast, metrics.values);
    if (elsewhere != nullptr && job_.hasDataWorkers) {
        addWorkers(elsewhere->figures(), metrics.values);
        sendAccount(*elsewhere, *layout, isLast);
    }
    last_ = now;
    lastRead_ = read;
    lastKept_ = kept;
    lastCpu_ = cpu;
    owner_.figures(std::move(metrics));
}

// Now and then, so that little of it is missing where a feed dies.
void FeedFigures::sendAccount(SegmentsElsewhere& elsewhere, const frame::FrameLayout& layout,
                              bool isLast) {
    const auto now = SteadyClock::now();
    if (!isLast && now - lastAccount_ < kAccountEvery) {
        return;
    }
    lastAccount_ = now;
    SegmentsElsewhere::Account account = elsewhere.account();
    if (account != account_) {
        account_ = std::move(account);
        owner_.receipt({{"data_workers", accountJson(account_, layout)}});
    }
    if (isLast) {
        logAccount(account_);
    }
}

}  // namespace millrace::loader

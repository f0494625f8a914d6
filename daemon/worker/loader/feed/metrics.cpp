#include "daemon/worker/loader/feed/metrics.h"

#include <algorithm>
#include <vector>

#include "backend/core/status.h"
#include "backend/values/metric_names.h"

namespace millrace::loader {

namespace {

constexpr double kPercentPerNs = 100e-9;

double perSecond(std::int64_t now, std::int64_t before, double seconds) {
    return static_cast<double>(now - before) / seconds;
}

}  // namespace

void StageMetrics::add(double seconds, bool isLast, std::map<std::string, double>& values) {
    if (seconds <= 0) {
        return;
    }
    addStages(seconds, values);
    addSteps(seconds, values);
    addMix(values);
    sinceColumns_ += seconds;
    if (isLast || sinceColumns_ >= kColumnSeconds) {
        addColumns(values);
        sinceColumns_ = 0;
    }
}

void StageMetrics::addStages(double seconds, std::map<std::string, double>& values) {
    for (std::size_t s = 0; s < segment::kNumStages; ++s) {
        const segment::StageCount now = counters_.read(static_cast<segment::Stage>(s));
        const segment::StageCount& was = last_[s];
        const std::string name = strCat("system.loader.", segment::kStageNames[s], ".");
        const std::int64_t rows = now.rows - was.rows;
        values[name + "busy_percent"] = perSecond(now.busyNs, was.busyNs, seconds) * kPercentPerNs;
        values[name + "starved_percent"] =
            perSecond(now.starvedNs, was.starvedNs, seconds) * kPercentPerNs;
        values[name + "blocked_percent"] =
            perSecond(now.blockedNs, was.blockedNs, seconds) * kPercentPerNs;
        values[name + "rows_per_second"] = perSecond(now.rows, was.rows, seconds);
        values[name + "bytes_per_second"] = perSecond(now.bytes, was.bytes, seconds);
        if (rows > 0) {
            values[name + "ns_per_row"] =
                static_cast<double>(now.busyNs - was.busyNs) / static_cast<double>(rows);
        }
        last_[s] = now;
    }
}

void StageMetrics::addSteps(double seconds, std::map<std::string, double>& values) {
    std::map<std::string, segment::StepTime> steps = counters_.steps();
    for (const auto& [step, time] : steps) {
        values[strCat("system.loader.step.", step, ".busy_percent")] =
            perSecond(time.busyNs, lastSteps_[step].busyNs, seconds) * kPercentPerNs;
    }
    lastSteps_ = std::move(steps);
}

// Means over the micro-batches since the last call; the worst since the start.
void StageMetrics::addMix(std::map<std::string, double>& values) {
    const segment::BatchMix now = counters_.mix();
    segment::BatchMix since = now;
    since.batches -= lastMix_.batches;
    since.rows -= lastMix_.rows;
    since.requests -= lastMix_.requests;
    since.userRows -= lastMix_.userRows;
    lastMix_ = now;
    if (since.batches == 0) {
        return;
    }
    const std::string prefix = "system.loader.mixing.";
    if (now.requests > 0) {
        values[prefix + "requests"] = since.meanRequests();
        values[prefix + "fewest_requests"] = static_cast<double>(now.fewestRequests);
    }
    if (now.userRows > 0) {
        values[prefix + "largest_user_percent"] = 100 * since.meanUserShare();
        values[prefix + "worst_user_percent"] = 100 * now.mostUserShare;
    }
}

void StageMetrics::addColumns(std::map<std::string, double>& values) const {
    const std::map<std::string, segment::ColumnCount> columns = counters_.columns();
    const auto rows =
        static_cast<double>(std::max<std::int64_t>(1, counters_.read(segment::Stage::kRead).rows));
    std::vector<std::pair<std::int64_t, const std::string*>> byCost;
    for (const auto& [name, column] : columns) {
        byCost.emplace_back(-column.busyNs(), &name);
    }
    std::sort(byCost.begin(), byCost.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : *a.second < *b.second;
    });
    byCost.resize(std::min(byCost.size(), kColumnsMax));
    for (const auto& [cost, name] : byCost) {
        const segment::ColumnCount& column = columns.at(*name);
        const std::string prefix = strCat("system.loader.column.", *name, ".");
        values[prefix + "ns_per_row"] = static_cast<double>(column.busyNs()) / rows;
        values[prefix + "wait_ns_per_row"] = static_cast<double>(column.waitNs) / rows;
        values[prefix + "disk_bytes_per_row"] = static_cast<double>(column.diskBytes) / rows;
    }
}

void addWorkers(const SegmentsElsewhere::Figures& figures, std::map<std::string, double>& values) {
    values[values::metric::kLoaderDataWorkers] = figures.workers;
    values[values::metric::kLoaderDataWorkersWanted] = figures.workersWanted;
}

}  // namespace millrace::loader

#include "backend/segment/stage_counters.h"

namespace millrace::segment {

void StageCounters::addReads(std::span<const dataset::ColumnCost> costs, std::int64_t rows) {
    MutexLock lock(mutex_);
    for (const dataset::ColumnCost& cost : costs) {
        ColumnCount& column = columns_[cost.column.empty() ? kAllColumns : cost.column];
        column.readNs += cost.busyNs;
        column.waitNs += cost.waitNs;
        column.diskBytes += cost.diskBytes;
        column.rows += rows;
    }
}

void StageCounters::addDecoded(std::span<const std::string> columns,
                               std::span<const std::int64_t> bytes) {
    MutexLock lock(mutex_);
    for (std::size_t c = 0; c < columns.size(); ++c) {
        columns_[columns[c]].decodedBytes += bytes[c];
    }
}

void StageCounters::addEncoded(std::span<const recipe::FeatureTime> features) {
    MutexLock lock(mutex_);
    for (const recipe::FeatureTime& feature : features) {
        columns_[feature.name].encodeNs += feature.busyNs;
    }
}

void StageCounters::addStep(const std::string& step, const StepTime& time) {
    MutexLock lock(mutex_);
    StepTime& sum = steps_[step];
    sum.busyNs += time.busyNs;
    sum.rowsIn += time.rowsIn;
    sum.rowsOut += time.rowsOut;
}

void StageCounters::addExpression(const std::string& step, const std::string& column,
                                  std::int64_t ns) {
    MutexLock lock(mutex_);
    expressions_[step][column] += ns;
}

void StageCounters::addCollated(std::span<const std::pair<std::string, std::int64_t>> ns) {
    MutexLock lock(mutex_);
    for (const auto& [column, time] : ns) {
        columns_[column].collateNs += time;
    }
}

std::map<std::string, ColumnCount> StageCounters::columns() const {
    std::map<std::string, ColumnCount> columns;
    {
        MutexLock lock(mutex_);
        columns.insert(columns_.begin(), columns_.end());
    }
    std::int64_t measured = 0;
    for (const auto& [name, column] : columns) {
        measured += column.collateNs;
    }
    if (measured == 0) {
        return columns;
    }
    const double scale =
        static_cast<double>(read(Stage::kCollate).busyNs) / static_cast<double>(measured);
    for (auto& [name, column] : columns) {
        column.collateNs = static_cast<std::int64_t>(static_cast<double>(column.collateNs) * scale);
    }
    return columns;
}

void StageCounters::addMix(const BatchMix& mix) {
    if (mix.batches > 0) {
        MutexLock lock(mutex_);
        mix_.add(mix);
    }
}

BatchMix StageCounters::mix() const {
    MutexLock lock(mutex_);
    return mix_;
}

std::map<std::string, std::map<std::string, std::int64_t>> StageCounters::expressions() const {
    MutexLock lock(mutex_);
    return expressions_;
}

std::map<std::string, StepTime> StageCounters::steps() const {
    MutexLock lock(mutex_);
    return steps_;
}

}  // namespace millrace::segment

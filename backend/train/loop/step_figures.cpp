#include "backend/train/loop/step_figures.h"

#include <algorithm>

#include "backend/values/metric_names.h"

namespace millrace::train {

namespace metric = values::metric;

void addFigures(const UpdateFigures& figures, const Learner& learner, const LearnerOptions& options,
                rank::Values& values) {
    values[metric::kGradientNorm] = figures.gradientNorm;
    values[metric::kLearningRate] = figures.learningRate;
    values[metric::kTableRowsTouched] = static_cast<double>(figures.rowsTouched);
    if (options.tableOptimizer) {
        values[metric::kTableLearningRate] = figures.tableLearningRate;
    }
    if (const std::int64_t bytes = learner.deviceBytes(); bytes > 0) {
        values[metric::kTrainerDeviceMemoryBytes] = static_cast<double>(bytes);
    }
}

rank::Values checkpointFigures(std::int64_t stoodNs, const Learner& learner) {
    constexpr std::size_t kMostTables = 64;
    rank::Values values{{metric::kTrainerCheckpointMs, static_cast<double>(stoodNs) * 1e-6}};
    const std::vector<TableUse> tables = learner.tableUse();
    for (std::size_t t = 0; t < std::min(tables.size(), kMostTables); ++t) {
        const TableUse& table = tables[t];
        values[metric::ofTable(table.name, metric::kUsedPercent)] =
            100 * static_cast<double>(table.rowsUsed) / static_cast<double>(table.rows);
    }
    return values;
}

}  // namespace millrace::train

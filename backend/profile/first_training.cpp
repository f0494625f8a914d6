#include "backend/profile/first_training.h"

#include <algorithm>

#include "backend/core/status.h"

namespace millrace::profile {
namespace {

// From here on there are rows enough for interactions between ids, and few epochs.
constexpr std::int64_t kLarge = 20'000;
constexpr std::int64_t kHuge = 1'000'000, kLargest = 4'000'000;
// Steps until a model has learned a small dataset. With few rows for each value, more steps only
// teach it its training rows by heart.
constexpr std::int64_t kFewSteps = 400, kManySteps = 900;
constexpr double kManyRowsPerValue = 40;
constexpr std::int64_t kFewestEpochs = 3, kMostEpochs = 30;
// The epochs of a dlrm, and of ids alone. These take longer: a row updates only the vectors of its
// own ids.
constexpr std::int64_t kEpochsOfDlrm = 4, kEpochsOfIds = 8;
// An id needs as many rows for each of its values before its interactions can be learned.
constexpr double kRowsOfInteraction = 50;

std::int64_t batchOf(std::int64_t rows) {
    return rows < 5'000      ? 32
           : rows < kLarge   ? 64
           : rows < kHuge    ? 256
           : rows < kLargest ? 1024
                             : 4096;
}

// How often a model without interactions reads a dataset of fewer than kHuge rows.
std::int64_t epochsOf(const TrainingShape& shape, std::int64_t batch) {
    const std::int64_t rows = std::max<std::int64_t>(1, shape.rows);
    const double rowsPerValue = static_cast<double>(rows) / std::max(1.0, shape.values);
    const std::int64_t steps = rowsPerValue < kManyRowsPerValue ? kFewSteps : kManySteps;
    return std::clamp<std::int64_t>(steps * batch / rows, kFewestEpochs, kMostEpochs);
}

}  // namespace

FirstTraining firstTraining(const TrainingShape& shape) {
    FirstTraining out;
    out.batch = batchOf(shape.rows);
    const bool isLarge = shape.rows >= kLarge;
    const bool hasInteractions = shape.rows >= kHuge || static_cast<double>(shape.rows) >=
                                                            kRowsOfInteraction * shape.mostValues;
    const std::string plain = "optimizer: adamw, learning_rate: 0.001";
    const std::string checkpoint = "checkpoint: {every_steps: 200}";
    if (isLarge && (!shape.hasDense || hasInteractions)) {
        const bool isDlrm = shape.hasDense && shape.hasIds;
        out.epochs = shape.rows >= kHuge ? 1 : shape.hasDense ? kEpochsOfDlrm : kEpochsOfIds;
        out.model = isDlrm ? "{type: dlrm, embedding_dim: 16, bottom: [128, 16], top: [128, 64, 1]}"
                           : "{type: mlp, hidden: [128, 64]}";
        out.train = strCat("{", plain, ", ", checkpoint, "}");
        return out;
    }
    out.epochs = epochsOf(shape, out.batch);
    // The rate falls to nearly nothing: the last steps average instead of following single rows.
    const std::string schedule = strCat(
        "schedule: {type: linear, steps: ",
        std::max<std::int64_t>(1, shape.rows * 9 / 10 * out.epochs / out.batch), ", final: 0.05}");
    const std::string tables = shape.hasIds ? "embedding_dim: 4, " : "";
    const std::string groups = shape.hasIds ? "groups: {embeddings: {learning_rate: 0.003}}, " : "";
    out.model = strCat("{type: mlp, ", tables, "hidden: ", isLarge ? "[128, 64]" : "[256]", "}");
    out.train = strCat("{", plain, ", ", groups, schedule, ", dropout: ", isLarge ? "0.1" : "0.5",
                       ", ", checkpoint, "}");
    return out;
}

}  // namespace millrace::profile

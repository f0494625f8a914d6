#include "backend/profile/first_training.h"

#include <algorithm>

#include "backend/core/status.h"

namespace millrace::profile {
namespace {

// From here on one or two epochs have steps enough for a model with interactions.
constexpr std::int64_t kLarge = 20'000;
constexpr std::int64_t kHuge = 1'000'000, kLargest = 4'000'000;
// Steps until a model has learned a small dataset. With few rows for each value, more steps only
// teach it its training rows by heart.
constexpr std::int64_t kFewSteps = 400, kManySteps = 900;
constexpr double kManyRowsPerValue = 40;
// If an id tells much of the labels of its other rows, learning rows by heart is what is wanted.
constexpr std::int64_t kMostSteps = 2'000;
constexpr double kTellingAuc = 0.8;
constexpr std::int64_t kFewestEpochs = 3, kMostEpochs = 30;
// The epochs of a large dataset without ids: there are no embeddings that learn rows by heart.
constexpr std::int64_t kEpochsOfNumbers = 4;
// With fewer rows for each value of the largest id, a model learns little more than one effect of
// each value, and a logistic regression learns these best.
constexpr double kRowsOfInteraction = 100;
// A dataset of fewer than kFew rows takes it with four epochs, and only if the largest id has fewer
// rows for each value, or if there are no numbers. Up to kMany rows it takes four epochs, if there
// are rows enough for each value not to be learned by heart.
constexpr std::int64_t kFew = 50'000, kMany = 120'000;
constexpr double kRowsOfFewInteractions = 18, kRowsOfLongLogistic = 50;

// Without ids, batches of 256. With ids, one epoch has some 500 steps or more.
std::int64_t batchOf(const TrainingShape& shape) {
    const std::int64_t rows = shape.rows;
    if (rows < kLarge) {
        return rows < 5'000 ? 32 : 64;
    }
    if (rows >= kHuge) {
        return rows < kLargest ? 1024 : 4096;
    }
    return !shape.hasIds || rows >= 120'000 ? 256 : rows < 30'000 ? 32 : rows < 60'000 ? 64 : 128;
}

// How often a small dataset is read.
std::int64_t epochsOf(const TrainingShape& shape, std::int64_t batch) {
    const std::int64_t rows = std::max<std::int64_t>(1, shape.rows);
    const double rowsPerValue = static_cast<double>(rows) / std::max(1.0, shape.values);
    const std::int64_t steps = shape.idAuc >= kTellingAuc         ? kMostSteps
                               : rowsPerValue < kManyRowsPerValue ? kFewSteps
                                                                  : kManySteps;
    return std::clamp<std::int64_t>(steps * batch / rows, kFewestEpochs, kMostEpochs);
}

// The rates fall over the whole run: the last steps average instead of following single rows.
std::string trainOf(const TrainingShape& shape, const FirstTraining& training,
                    const std::string& rates, const std::string& final, const std::string& more) {
    const std::int64_t rows = shape.trainedRows > 0 ? shape.trainedRows : shape.rows * 9 / 10;
    const std::int64_t stepsOfEpoch = (rows + training.batch - 1) / training.batch;
    return strCat("{optimizer: adamw, ", rates, ", schedule: {type: linear, steps: ",
                  std::max<std::int64_t>(1, stepsOfEpoch * training.epochs), ", final: ", final,
                  "}, ", more, "checkpoint: {every_steps: 200}}");
}

// One id, a user for example, has most of the values and few rows for each.
bool hasRareValues(const TrainingShape& shape, double mostRows = kRowsOfInteraction) {
    return 2 * shape.mostValues >= shape.values &&
           static_cast<double>(shape.rows) < mostRows * shape.mostValues;
}

// Whether the effects of single values are most of what a model can learn.
bool isAdditive(const TrainingShape& shape) {
    const bool isFew = shape.rows < kFew && shape.hasDense;
    return hasRareValues(shape, isFew ? kRowsOfFewInteractions : kRowsOfInteraction);
}

FirstTraining logistic(const TrainingShape& shape, FirstTraining out) {
    const bool isLong =
        shape.rows < kFew || (shape.rows < kMany && !hasRareValues(shape, kRowsOfLongLogistic));
    out.batch = std::max<std::int64_t>(out.batch, shape.rows < kFew ? 256 : 0);
    out.epochs = isLong ? 4 : 2;
    out.model = "{type: logistic, embedding_dim: 1}";
    out.train =
        trainOf(shape, out, isLong ? "learning_rate: 0.03" : "learning_rate: 0.02", "0.3", "");
    return out;
}

// Ids are read once or twice, at falling rates: later, the vector of a value tells the labels of
// its training rows, the layers learn to trust it, and the AUC of other rows falls. With few rows
// for each value that begins in the second epoch. High rates of the embeddings make up for the
// epochs.
FirstTraining withInteractions(const TrainingShape& shape, FirstTraining out) {
    out.epochs = shape.rows >= kHuge || hasRareValues(shape) ? 1 : 2;
    out.model = shape.hasDense
                    ? "{type: dlrm, embedding_dim: 16, bottom: [128, 16], top: [128, 64, 1]}"
                    : "{type: mlp, hidden: [128, 64]}";
    out.train = trainOf(shape, out,
                        strCat("learning_rate: 0.002, groups: {embeddings: {learning_rate: ",
                               out.epochs == 1 ? "0.02" : "0.01", "}}"),
                        "0.3", "");
    return out;
}

}  // namespace

FirstTraining firstTraining(const TrainingShape& shape) {
    FirstTraining out;
    out.batch = batchOf(shape);
    const std::string rate = "learning_rate: 0.001";
    if (shape.rows >= kLarge && shape.hasIds) {
        return isAdditive(shape) ? logistic(shape, out) : withInteractions(shape, out);
    }
    if (shape.rows >= kLarge) {
        out.epochs = shape.rows >= kHuge ? 1 : kEpochsOfNumbers;
        out.model = "{type: mlp, hidden: [128, 64]}";
        out.train = strCat("{optimizer: adamw, ", rate, ", checkpoint: {every_steps: 200}}");
        return out;
    }
    out.epochs = epochsOf(shape, out.batch);
    const std::string tables = shape.hasIds ? "embedding_dim: 4, " : "";
    const std::string groups = shape.hasIds ? ", groups: {embeddings: {learning_rate: 0.003}}" : "";
    out.model = strCat("{type: mlp, ", tables, "hidden: [256]}");
    out.train = trainOf(shape, out, strCat(rate, groups), "0.05", "dropout: 0.5, ");
    return out;
}

}  // namespace millrace::profile

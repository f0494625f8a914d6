// Model, length and rates of a first spec by the size of the dataset.
#include "backend/profile/first_training.h"

#include <gmock/gmock.h>

namespace millrace::profile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(FirstTraining, ManyValuesAndFewRowsAreReadLessOften) {
    const auto epochsOf = [](std::int64_t rows, double values) {
        return firstTraining({rows, true, true, values, values}).epochs;
    };
    EXPECT_GT(epochsOf(1'800, 9), epochsOf(1'800, 300));
    EXPECT_THAT(firstTraining({1'800, true, true, 300, 200}).train, HasSubstr("dropout: 0.5"));
}

TEST(FirstTraining, IdsOfALargeDatasetAreReadOnceOrTwiceAtFallingRates) {
    const FirstTraining wide = firstTraining({300'000, true, true, 12'000, 4'000});
    EXPECT_THAT(wide.model, HasSubstr("type: dlrm"));
    EXPECT_EQ(wide.epochs, 2);
    EXPECT_THAT(wide.train, AllOf(HasSubstr("groups: {embeddings: {learning_rate: 0.01}}"),
                                  HasSubstr("schedule: {type: linear, steps: 2110, final: 0.3}")));
    EXPECT_THAT(firstTraining({300'000, true, true, 12'000, 4'000, 269'900}).train,
                HasSubstr("schedule: {type: linear, steps: 2110,"))
        << "the last step of each epoch has fewer rows";
    EXPECT_THAT(firstTraining({300'000, true, true, 12'000, 4'000, 280'000}).train,
                HasSubstr("schedule: {type: linear, steps: 2188,"));
    const FirstTraining rare = firstTraining({30'000, true, true, 1'600, 1'200});
    EXPECT_THAT(rare.model, HasSubstr("type: dlrm"));
    EXPECT_EQ(rare.epochs, 1);
    EXPECT_THAT(rare.train, HasSubstr("groups: {embeddings: {learning_rate: 0.02}}"));
    EXPECT_THAT(firstTraining({100'000, false, true, 2'600, 800}).model,
                HasSubstr("type: mlp, hidden: [128, 64]"));
    for (const std::int64_t rows : {20'000, 40'000, 100'000, 900'000, 3'000'000}) {
        const FirstTraining training = firstTraining({rows, true, true, 400, 60});
        EXPECT_EQ(training.epochs, rows < 1'000'000 ? 2 : 1) << rows;
        EXPECT_GT(rows / training.batch, 500) << rows;
    }
}

TEST(FirstTraining, ASmallDatasetWhoseIdTellsTheLabelIsReadOften) {
    TrainingShape shape{4'360, true, true, 600, 545};
    EXPECT_EQ(firstTraining(shape).epochs, 3);
    shape.idAuc = 0.75;
    EXPECT_EQ(firstTraining(shape).epochs, 3);
    shape.idAuc = 0.89;
    EXPECT_EQ(firstTraining(shape).epochs, 14);
    shape.rows = 19'000;
    EXPECT_EQ(firstTraining(shape).epochs, 6);
}

TEST(FirstTraining, AnIdWithFewRowsForEachOfItsValuesGetsALogisticRegression) {
    for (const bool hasDense : {false, true}) {
        const FirstTraining few = firstTraining({240'000, hasDense, true, 3'800, 3'000});
        EXPECT_EQ(few.model, "{type: logistic, embedding_dim: 1}");
        EXPECT_EQ(few.epochs, 2);
        EXPECT_THAT(few.train, HasSubstr("learning_rate: 0.02"));
    }
    EXPECT_EQ(firstTraining({100'000, false, true, 2'600, 1'700}).epochs, 4);
    const FirstTraining small = firstTraining({30'000, true, true, 6'900, 5'900});
    EXPECT_EQ(small.model, "{type: logistic, embedding_dim: 1}");
    EXPECT_EQ(small.batch, 256);
    EXPECT_EQ(small.epochs, 4);
    EXPECT_EQ(firstTraining({45'000, false, true, 1'900, 1'450}).model, small.model);
    EXPECT_THAT(firstTraining({1'200'000, true, true, 53'000, 50'000}).model,
                HasSubstr("type: logistic"));
    EXPECT_THAT(firstTraining({240'000, true, true, 3'200, 2'400}).model, HasSubstr("type: dlrm"));
    EXPECT_THAT(firstTraining({240'000, true, true, 9'000, 3'000}).model, HasSubstr("type: dlrm"));
}

}  // namespace
}  // namespace millrace::profile

// Recipes that are run in pieces of a split: frames, errors and counts equal those of the whole
// split, for any size of the pieces and any threads that run them.
#include <gmock/gmock.h>

#include "backend/segment/split_columns.h"
#include "tests/unit/segment/request_fixture.h"

namespace millrace::segment {
namespace {

using testing::ElementsAre;

std::vector<std::string> bytesOf(const RememberingSink& sink) {
    std::vector<std::string> frames;
    for (const SeenBatch& batch : sink.batches()) {
        frames.push_back(batch.bytes);
    }
    return frames;
}

class PiecesTest : public RequestTest {
 protected:
    static constexpr std::int64_t kWhole = std::int64_t{1} << 40;

    Status runIn(std::int64_t pieceRows, int threads, const std::string& text,
                 RememberingSink& sink) {
        pieceRows_ = pieceRows;
        return run(open(text), sink, threads);
    }

    void expectSameAsWhole(const std::string& text) {
        RememberingSink whole;
        ASSERT_TRUE(runIn(kWhole, 1, text, whole).ok());
        ASSERT_GT(whole.batches().size(), 20U);
        for (const auto& [pieceRows, threads] :
             {std::pair{7, 1}, {7, 4}, {50, 2}, {333, 3}, {10'000, 2}}) {
            RememberingSink sink;
            const Status status = runIn(pieceRows, threads, text, sink);
            ASSERT_TRUE(status.ok()) << status;
            EXPECT_TRUE(bytesOf(sink) == bytesOf(whole))
                << pieceRows << " rows, " << threads << " threads: " << text;
            EXPECT_EQ(sink.records, whole.records) << pieceRows;
        }
    }
};

TEST_F(PiecesTest, FramesAndRecordsAreThoseOfTheWholeSplit) {
    writeFiles();
    for (const std::string shuffle : {"none", "rows", "requests"}) {
        for (const std::string dedup : {"\"off\"", "required", "best_effort"}) {
            const std::string lists = dedup == "required" ? "[history]" : "[history, tags]";
            expectSameAsWhole(
                specText(strCat("request: request, dedup: ", dedup, ", lists: ", lists), shuffle));
        }
    }
    expectSameAsWhole(specText("lists: [history], ids: [request]", "rows"));
}

TEST_F(PiecesTest, TheSentenceIsTheWholeSplits) {
    writeFiles(1502);
    const std::string list =
        specText("request: request, dedup: required, lists: [history]", "rows");
    // Two steps fail: the error is that of the first step, although the second fails at an earlier
    // row.
    const std::string cast =
        strCat("name: t\ndataset: {path: \"", directory_.path(),
               "/part-*.parquet\"}\nrecipe:\n"
               "  - derive: {a: \"cast(case when request = 60 then 'x' else '1' end as int64)\"}\n"
               "  - derive: {b: \"cast(case when request = 20 then 'y' else '1' end as int64)\"}\n"
               "labels: {label: label}\nfeatures: {dense: [a, b]}\n"
               "model: {type: mlp, hidden: [4]}\nbatch: {rows: 128, micro_rows: 64, "
               "segment_splits: 2, order: as_is, seed: 5}\n");
    for (const std::string& text : {list, cast}) {
        RememberingSink whole;
        EXPECT_EQ(runIn(kWhole, 1, text, whole).code(), absl::StatusCode::kInvalidArgument);
        EXPECT_NE(whole.errorText, "");
        for (const std::int64_t pieceRows : {1, 50, 333}) {
            for (const int threads : {1, 3}) {
                RememberingSink sink;
                EXPECT_FALSE(runIn(pieceRows, threads, text, sink).ok());
                EXPECT_EQ(sink.errorText, whole.errorText) << pieceRows;
                EXPECT_TRUE(bytesOf(sink) == bytesOf(whole)) << pieceRows;
            }
        }
    }
}

TEST_F(PiecesTest, RowsAndStepsAreCountedOnce) {
    writeFiles();
    const std::string text = specText("request: request, lists: [history]", "rows");
    std::vector<StepTime> steps;
    for (const std::int64_t pieceRows : {kWhole, std::int64_t{40}}) {
        const StageCount readBefore = counters_.read(Stage::kRead);
        const std::map<std::string, StepTime> before = counters_.steps();
        RememberingSink sink;
        ASSERT_TRUE(runIn(pieceRows, 3, text, sink).ok());
        EXPECT_EQ(counters_.read(Stage::kRead).rows - readBefore.rows, 2 * 2 * kRows);
        EXPECT_EQ(counters_.read(Stage::kRecipe).rows, counters_.read(Stage::kOrder).rows);
        EXPECT_GT(counters_.read(Stage::kRecipe).busyNs, 0);
        for (const auto& [name, step] : counters_.steps()) {
            const auto old = before.find(name);
            const StepTime from = old == before.end() ? StepTime() : old->second;
            steps.push_back({0, step.rowsIn - from.rowsIn, step.rowsOut - from.rowsOut});
        }
    }
    ASSERT_EQ(steps.size() % 2, 0U);
    for (std::size_t s = 0; s < steps.size() / 2; ++s) {
        EXPECT_EQ(steps[s].rowsIn, steps[s + steps.size() / 2].rowsIn);
        EXPECT_EQ(steps[s].rowsOut, steps[s + steps.size() / 2].rowsOut);
    }
}

TEST(PieceBorders, CutByRowsButNoRequest) {
    EXPECT_THAT(pieceBorders(0, 10, nullptr, 0), ElementsAre(0, 0));
    EXPECT_THAT(pieceBorders(10, 10, nullptr, 0), ElementsAre(0, 10));
    EXPECT_THAT(pieceBorders(25, 10, nullptr, 7), ElementsAre(0, 10, 20, 25));
    const std::vector<std::uint64_t> starts = {100, 104, 111, 112, 130};
    EXPECT_THAT(pieceBorders(40, 10, &starts, 100), ElementsAre(0, 11, 30, 40));
    EXPECT_THAT(pieceBorders(29, 10, &starts, 100), ElementsAre(0, 11, 29));
    EXPECT_THAT(pieceBorders(40, 1, &starts, 100), ElementsAre(0, 4, 11, 12, 30, 40));
}

}  // namespace
}  // namespace millrace::segment

#include "app/gui/models/runs/run_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/models/runs/run_table.h"
#include "tests/unit/gui_models/sample_table.h"

namespace millrace::gui {
namespace {

using testing::ElementsAre;

class RunOrderTest : public testing::Test {
 protected:
    RunOrderTest() {
        values::RunSummary newest = sampleRun("r-newest", 0.9);
        newest.createdMs += 1'000;
        newest.latestMetrics.clear();
        table.apply(true,
                    {sampleRun("r-base", 0.5), sampleRun("r-v1", 0.4, "r-base", "keep-30"),
                     sampleRun("r-v2", 0.6, "r-base", "keep-10"), newest},
                    {});
    }
    std::vector<std::string> arranged() {
        std::vector<std::string> texts;
        for (const RunRow& row : arrangeRuns(table, order).rows) {
            texts.push_back(std::string(static_cast<std::size_t>(row.depth), '>') +
                            table.run(row.source).id + (row.isContext ? "?" : ""));
        }
        return texts;
    }
    RunTable table;
    RunOrder order;
};

TEST_F(RunOrderTest, NestsVariationsAndFoldsThemAway) {
    EXPECT_THAT(arranged(), ElementsAre("r-newest", "r-base", ">r-v1", ">r-v2"));
    EXPECT_EQ(arrangeRuns(table, order).rows[1].numVariations, 2);
    order.folded.insert("r-base");
    EXPECT_THAT(arranged(), ElementsAre("r-newest", "r-base"));
    EXPECT_EQ(arrangeRuns(table, order).rows[1].numVariations, 2);
    EXPECT_EQ(arrangeRuns(table, order).numMatching, 4) << "folded ones match too";
    order.isNested = false;
    EXPECT_EQ(arranged().size(), 4U);
}

TEST_F(RunOrderTest, RunsOfOneSubmitStandInItsOrderWhereTheColumnDoesNotTellThemApart) {
    std::vector<values::RunSummary> group = {
        sampleRun("r-z", 0.5), sampleRun("r-y", 0.5, "r-z", "keep-30"),
        sampleRun("r-x", 0.5, "r-z", "keep-10"), sampleRun("r-w", 0.5, "r-z", "since-1990")};
    for (std::size_t i = 0; i < group.size(); ++i) {
        group[i].uid = "0190" + std::to_string(i);
    }
    std::reverse(group.begin(), group.end());  // in any order of arrival
    table.apply(true, group, {});
    for (const char* key : {"created", "metric:loss", "name"}) {
        for (const Qt::SortOrder direction : {Qt::DescendingOrder, Qt::AscendingOrder}) {
            order.sortKey = key;
            order.direction = direction;
            EXPECT_THAT(arranged(), ElementsAre("r-z", ">r-y", ">r-x", ">r-w")) << key;
        }
    }
    order.isNested = false;
    EXPECT_THAT(arranged(), ElementsAre("r-z", "r-y", "r-x", "r-w"));
}

TEST_F(RunOrderTest, SortsByAColumnWithEmptyValuesLast) {
    order.sortKey = "metric:loss";
    EXPECT_THAT(arranged(), ElementsAre("r-base", ">r-v2", ">r-v1", "r-newest"));
    order.direction = Qt::AscendingOrder;
    EXPECT_THAT(arranged(), ElementsAre("r-base", ">r-v1", ">r-v2", "r-newest"));
}

TEST_F(RunOrderTest, ShowsABaseAsContextForItsVariationsAlone) {
    order.filter.words = {"keep-1"};
    EXPECT_THAT(arranged(), ElementsAre("r-base?", ">r-v2"));
    EXPECT_EQ(arrangeRuns(table, order).numMatching, 1);
    order.filter.states = {values::RunState::kFailed};
    EXPECT_TRUE(arranged().empty()) << "all parts must hold";
}

TEST_F(RunOrderTest, KnowsTheBaseOfAVariation) {
    EXPECT_EQ(baseOfRun(table, table.rowOf("r-v1")), table.rowOf("r-base"));
    EXPECT_EQ(baseOfRun(table, table.rowOf("r-base")), -1);
    table.apply(false, {sampleRun("r-deep", 0.1, "r-v1", "x"), sampleRun("r-own", 0.1, "r-own")},
                {});
    EXPECT_EQ(baseOfRun(table, table.rowOf("r-deep")), -1) << "a variation is not a base";
    EXPECT_EQ(baseOfRun(table, table.rowOf("r-own")), -1);
}

}  // namespace
}  // namespace millrace::gui

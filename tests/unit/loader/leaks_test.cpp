// The search for features that reveal the label: its findings, and its limits.
#include "daemon/worker/loader/questions/leaks.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/spec/spec_reader.h"
#include "daemon/worker/loader/resolve.h"
#include "tests/support/temp_dir.h"

namespace millrace::loader {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Ten files of 1,000 rows; `told` equals the label, `other` is unrelated to it.
class LeaksTest : public ::testing::Test {
 protected:
    LeaksTest() {
        for (int file = 0; file < kFiles; ++file) {
            std::ofstream rows(dir_ / strCat("rows-", file, ".csv"));
            rows << "click,told,other\n";
            for (int row = 0; row < kRows; ++row) {
                const int click = row % 3 == 0 ? 1 : 0;
                rows << click << ',' << click * 2 + 1 << ',' << row * 7 % 11 << '\n';
            }
        }
    }
    ResolvedRun resolved(const std::string& where = "true") const {
        ResolveRequest request;
        request.text = strCat("name: leaks\ndataset: {path: 'rows-*.csv', where: \"", where,
                              "\"}\nlabels: {click: 'click = 1'}\n"
                              "features: {dense: [told, other]}\nbatch: {rows: 64}\n"
                              "model: {type: mlp}\n");
        request.baseDir = dir_.path();
        ResolveReply reply = resolveSpec(request);
        EXPECT_TRUE(reply.errors.empty()) << spec::toStatus(reply.errors, "spec");
        return reply.runs.empty() ? ResolvedRun{} : std::move(reply.runs.front());
    }

    static constexpr int kFiles = 10, kRows = 1'000;
    const tests::TempDir dir_;
    std::stop_source stop_;
};

TEST_F(LeaksTest, AFeatureThatIsTheLabelIsNamed) {
    const ResolvedRun run = resolved();
    const auto look = findLeaks(run.spec, run.plan, stop_.get_token());
    ASSERT_TRUE(look.ok()) << look.status();
    EXPECT_THAT(look->notes, ElementsAre(HasSubstr("features.dense: told alone tells the label")));
    EXPECT_THAT(look->remarks.at("told"), HasSubstr("alone tells the label 'click' (AUC 1.000)"));
    EXPECT_EQ(look->rowsRead, kFiles * kRows);
}

TEST_F(LeaksTest, NoMoreRowsAreReadThanEnoughLabelsTake) {
    const ResolvedRun run = resolved();
    LeakLimits limits;
    limits.rows = 1'500;
    const auto look = findLeaks(run.spec, run.plan, stop_.get_token(), limits);
    ASSERT_TRUE(look.ok()) << look.status();
    EXPECT_EQ(look->rowsRead, 2 * kRows);
    EXPECT_EQ(look->notes.size(), 1u);
}

TEST_F(LeaksTest, AFilterThatLeavesFewRowsDoesNotLetItReadOn) {
    const ResolvedRun run = resolved("other = 100");
    LeakLimits limits;
    limits.rowsRead = 2'300;
    const auto look = findLeaks(run.spec, run.plan, stop_.get_token(), limits);
    ASSERT_TRUE(look.ok()) << look.status();
    EXPECT_EQ(look->rowsRead, 2'300) << "a part of a file, too";
    EXPECT_THAT(look->notes, ElementsAre("leaks: not looked for: of the first 2,300 rows, 0 have "
                                         "the label 'click'"));
}

TEST_F(LeaksTest, ItEndsWhenItsTimeIsUpAndWhenItIsAskedTo) {
    const ResolvedRun run = resolved();
    LeakLimits limits;
    limits.time = std::chrono::milliseconds(0);
    const auto late = findLeaks(run.spec, run.plan, stop_.get_token(), limits);
    ASSERT_TRUE(late.ok()) << late.status();
    EXPECT_EQ(late->rowsRead, 0);
    EXPECT_EQ(late->notes.size(), 1u);
    stop_.request_stop();
    const auto stopped = findLeaks(run.spec, run.plan, stop_.get_token());
    EXPECT_TRUE(absl::IsCancelled(stopped.status())) << stopped.status();
}

}  // namespace
}  // namespace millrace::loader

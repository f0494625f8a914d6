#include "daemon/worker/loader/feed/figures.h"

#include <gtest/gtest.h>

#include "backend/values/metric_names.h"

namespace millrace::loader {
namespace {

class HearingOwner final : public FeedOwner {
 public:
    int fd() const override { return -1; }
    bool wantsEnd() override { return false; }
    Status endWanted() const override { return okStatus(); }
    void failed(const Status&) override {}
    void figures(rank::Metrics figures) override { heard.push_back(std::move(figures)); }
    void awaits(int) override {}
    void receipt(Json) override {}
    void finish() override {}

    std::vector<rank::Metrics> heard;
};

// Without this, charts showed a spike at the end of each run: the rows of some milliseconds as a
// rate per second.
TEST(FeedFigures, ARateIsOfASecondAndNotOfAMoment) {
    const FeedJob job;
    const segment::StageCounters counters;
    HearingOwner owner;
    FeedFigures figures(job, counters, owner);
    figures.send(nullptr, nullptr, nullptr, false);
    figures.send(nullptr, nullptr, nullptr, true);
    ASSERT_EQ(owner.heard.size(), 2U);
    EXPECT_TRUE(owner.heard[0].values.contains(values::metric::kLoaderRowsReadPerSecond))
        << "of a run that is over at once there is nothing else";
    EXPECT_FALSE(owner.heard[1].values.contains(values::metric::kLoaderRowsReadPerSecond));
    EXPECT_FALSE(owner.heard[1].values.contains(values::metric::kLoaderCpuPercent));
}

}  // namespace
}  // namespace millrace::loader

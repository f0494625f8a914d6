// Subscribers of the runs that are shown live.
#include "daemon/agent/run/live_table.h"

#include <gtest/gtest.h>

namespace millrace::agent {
namespace {

TEST(LiveTable, SubscribersHearOfChangesOnly) {
    LiveTable table;
    int calls = 0;
    {
        const auto subscription = table.subscribe([&] { ++calls; });
        values::RunLive run;
        run.queuedReason = "behind 1 run";
        table.set("r-a", run);
        table.set("r-a", run);
        EXPECT_EQ(calls, 1);
        table.erase("r-a");
        EXPECT_EQ(calls, 2);
    }
    table.touch();
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(table.get("r-a").queuedReason, "");
}

}  // namespace
}  // namespace millrace::agent

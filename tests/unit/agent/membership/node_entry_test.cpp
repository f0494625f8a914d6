// NodeEntry: the head's record of one node.
#include "daemon/agent/membership/node_entry.h"

#include <gtest/gtest.h>

namespace millrace::agent {
namespace {

TEST(NodeEntry, RemembersHowAPartEndedBeforeItsEndWasAskedFor) {
    const std::string key = PartName{"r-abcde", 1, 1}.key();
    NodeEntry entry;
    entry.gangs[key].phase = engines::Phase::kEnded;
    entry.gangs[key].cause = engines::Cause::kWorkerFailed;
    entry.unplace(key, {});
    EXPECT_FALSE(entry.state(key).has_value());
    ASSERT_TRUE(entry.lastWord(key).has_value());
    EXPECT_EQ(entry.lastWord(key)->cause, engines::Cause::kWorkerFailed);
}

}  // namespace
}  // namespace millrace::agent

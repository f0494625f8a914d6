#include "backend/engines/engine.h"

#include <gtest/gtest.h>

namespace millrace::engines {
namespace {

TEST(Engine, WorkersAreNumberedWhenThereAreSeveralOrWhenTheyAreRanks) {
    Group group;
    group.name = "feed";
    EXPECT_EQ(workerNames(group), std::vector<std::string>{"feed"});
    group.slots = 2;
    EXPECT_EQ(workerNames(group), (std::vector<std::string>{"feed0", "feed1"}));
    group = Group{};
    group.name = "rank";
    group.hasRanks = true;
    EXPECT_EQ(workerNames(group), std::vector<std::string>{"rank0"});
}

TEST(Engine, RanksOfAnotherNodeAreNumberedBehindThoseBeforeThem) {
    Group group;
    group.name = "rank";
    group.hasRanks = true;
    group.procs = 2;
    group.place = {2, 4, 1, 2, "10.0.0.1", 4711};
    EXPECT_EQ(workerNames(group), (std::vector<std::string>{"rank2", "rank3"}));
}

TEST(Engine, AGangGoesToAnotherNodeAsText) {
    Group group;
    group.name = "rank";
    group.procs = 2;
    group.resources = {2.5, 1, 4'000'000'000};
    group.hasRanks = group.isUsers = true;
    group.isCritical = false;
    group.argv = {"python3", "train.py", "--name", "a \"b\""};
    group.environment = {{"HOME", "/srv/ada"}};
    group.workingDirectory = "/work";
    group.replacements = 3;
    group.place = {2, 4, 1, 2, "10.0.0.1", 4711};
    Gang gang;
    gang.key = "r-abcde.a3";
    gang.attempt = 3;
    gang.groups = {group, group};
    const auto read = gangFromText(gangText(gang));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(gangText(*read), gangText(gang));
    EXPECT_EQ(gangHash(*read), gangHash(gang));
    EXPECT_EQ(read->key, gang.key);
    EXPECT_EQ(read->groups.at(1).place, group.place);
    EXPECT_EQ(read->groups.at(1).argv, group.argv);
    for (const char* text : {"{}", "gang", R"({"key":"a"})", R"({"key":"a","groups":[{}]})"}) {
        EXPECT_FALSE(gangFromText(text).ok()) << text;
    }
}

TEST(Engine, TheGangHashCoversTheContentsAndNotTheKey) {
    Gang gang;
    gang.key = "r-a.a1";
    gang.groups.resize(1);
    gang.groups[0].argv = {"true"};
    const std::string hash = gangHash(gang);
    gang.key = "r-b.a1";
    EXPECT_EQ(gangHash(gang), hash);
    gang.groups[0].environment["X"] = "1";
    EXPECT_NE(gangHash(gang), hash);
}

}  // namespace
}  // namespace millrace::engines

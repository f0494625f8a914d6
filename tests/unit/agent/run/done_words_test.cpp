// A worker's word that it is done: on disk before it is acknowledged.
#include <filesystem>

#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

TEST_F(AgentTest, DoneIsAcknowledgedOnlyOnceItIsOnDisk) {
    const std::string id = submit();
    hello(id);
    const std::string file = strCat(root, "/runs/", id, "/a1/done.json");
    std::filesystem::create_directories(file + "/in-the-way");
    say(id, 1, rank::Done{6, 2, "", {}, {}});
    EXPECT_TRUE(door(id)->acks.empty());
    std::filesystem::remove_all(file);
    clock.advanceMs(1'500);
    controller->drain();
    EXPECT_EQ((door(id)->acks.at({1, 1})), 1u);
    EXPECT_TRUE(std::filesystem::is_regular_file(file));
}

TEST_F(AgentTest, DoneIsAcknowledgedAlsoWhereTheWordOfAnotherBroughtItOntoTheDisk) {
    const std::string id = submit();
    hello(id);
    const std::string file = strCat(root, "/runs/", id, "/a1/done.json");
    std::filesystem::create_directories(file + "/in-the-way");
    say(id, 1, rank::Done{6, 2, "", {}, {}});
    std::filesystem::remove_all(file);
    rank::RankLine line;
    line.seq = line.attempt = 1;
    line.body = rank::ReceiptLine{{{"data_workers", Json::object()}}};
    EXPECT_TRUE(door(id)->listener.onLine(2, {id, 1, "feed", 0, 101}, line));
    clock.advanceMs(50);
    controller->drain();
    controller->drain();
    EXPECT_EQ((door(id)->acks.at({1, 1})), 1u);
}

}  // namespace
}  // namespace millrace::agent

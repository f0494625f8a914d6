// DoneWords: a worker's "done" is on disk before the daemon acknowledges it.
#include <filesystem>

#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

class DoneWordsTest : public AgentTest {
 protected:
    /// Rank 0 reports that it is done while done.json cannot be written; later it can.
    DoneWordsTest() : id(submit()), file(strCat(root, "/runs/", id, "/a1/done.json")) {
        hello(id);
        std::filesystem::create_directories(file + "/in-the-way");
        say(id, 1, rank::Done{6, 2, "", {}, {}});
        EXPECT_TRUE(door(id)->acks.empty());
        std::filesystem::remove_all(file);
    }

    const std::string id, file;
};

TEST_F(DoneWordsTest, DoneIsAcknowledgedOnlyOnceItIsOnDisk) {
    clock.advanceMs(1'500);
    controller->drain();
    EXPECT_EQ((door(id)->acks.at({1, 1})), 1u);
    EXPECT_TRUE(std::filesystem::is_regular_file(file));
}

TEST_F(DoneWordsTest, DoneIsAcknowledgedAlsoIfAnotherWorkersReportBringsItOntoTheDisk) {
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

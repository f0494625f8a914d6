// Lines on their way into the store, also while it cannot commit.
#include <sqlite3.h>

#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

class IntakeTest : public AgentTest {
 protected:
    IntakeTest() : intake(*store, clock) {
        runs::RunRecord run;
        run.name = "x";
        id = store->create(run)->run.id;
        EXPECT_TRUE(store->beginAttempt(id, 1, 0).ok());
    }
    bool add(std::uint64_t seq, rank::ConnectionId connection = 1) {
        rank::RankLine line;
        line.seq = seq;
        line.attempt = 1;
        line.body = rank::Metrics{static_cast<std::int64_t>(seq), 0, 1, 1, {{"loss", 0.5}}};
        return intake.add(connection, sender(id, 1), line);
    }
    LineIntake intake;
    std::string id;
};

/// Another writer that holds the file: what a commit meets when the disk does not take it.
class Blockade {
 public:
    explicit Blockade(const std::string& path) {
        ::sqlite3_open(path.c_str(), &db_);
        ::sqlite3_exec(db_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
    }
    ~Blockade() {
        ::sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
        ::sqlite3_close(db_);
    }

 private:
    sqlite3* db_ = nullptr;
};

TEST_F(IntakeTest, LinesAreCommittedTogetherAndAcknowledgedOnce) {
    for (std::uint64_t seq = 1; seq <= 5; ++seq) {
        ASSERT_TRUE(add(seq));
    }
    const IntakeReport report = intake.flush();
    EXPECT_EQ(report.committed.size(), 5u);
    ASSERT_EQ(report.acks.size(), 1u);
    EXPECT_EQ(report.acks[0].seq, 5u);
    EXPECT_TRUE(intake.isEmpty());
}

TEST_F(IntakeTest, LinesSentAgainAreNotStoredTwice) {
    ASSERT_TRUE(add(1));
    ASSERT_TRUE(add(2));
    ASSERT_TRUE(add(1, 2));  // a new connection, before the commit
    EXPECT_EQ(intake.flush().committed.size(), 2u);
    ASSERT_TRUE(add(1, 2));  // and after it
    const IntakeReport again = intake.flush();
    EXPECT_EQ(again.acks.at(0).seq, 2u);
    EXPECT_EQ(again.acks.at(0).connection, 2u);
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 2u);
}

TEST_F(IntakeTest, AStoreThatCannotCommitKeepsTheLinesAndSaysSo) {
    {
        const Blockade blockade(root + "/runs.sqlite");
        ASSERT_TRUE(add(1));
        EXPECT_TRUE(intake.flush().acks.empty());
        EXPECT_NE(intake.trouble(), "");
        EXPECT_FALSE(intake.isEmpty());
    }
    EXPECT_TRUE(intake.flush().acks.empty()) << "not at once";
    clock.advanceMs(1'100);
    EXPECT_EQ(intake.flush().acks.at(0).seq, 1u);
    EXPECT_EQ(intake.trouble(), "");
}

TEST_F(IntakeTest, ItHasRoomForSoManyLinesOnly) {
    const std::uint64_t most = LineIntake::kMaxPending;
    for (std::uint64_t seq = 1; seq <= most; ++seq) {
        ASSERT_TRUE(add(seq));
    }
    EXPECT_FALSE(add(most + 1));
    (void)intake.flush();
    EXPECT_TRUE(add(most + 1));
}

TEST_F(IntakeTest, LinesOfAnUnknownRunAreDroppedAndAcknowledged) {
    rank::RankLine line;
    line.seq = 3;
    line.attempt = 1;
    line.body = rank::ErrorLine{"x"};
    ASSERT_TRUE(intake.add(1, sender("r-nobody", 1), line));
    const IntakeReport report = intake.flush();
    EXPECT_TRUE(report.committed.empty());
    EXPECT_EQ(report.acks.at(0).seq, 3u);
}

}  // namespace
}  // namespace millrace::agent

// Lines on their way into the store, also while it cannot commit.
#include <sqlite3.h>

#include "backend/filesystem/files.h"
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
    bool addOf(int rank, std::uint64_t seq) {
        rank::RankLine line;
        line.seq = seq;
        line.attempt = 1;
        line.body = rank::Metrics{static_cast<std::int64_t>(seq), 0, 1, 1, {{"loss", 0.5}}};
        rank::Sender one = sender(id, 1);
        one.rank = rank;
        return intake.add(static_cast<rank::ConnectionId>(rank + 1), one, line);
    }
    /// Makes the store refuse rows of `table` if `when` holds, as a damaged page does.
    void refuse(const std::string& table, const std::string& when) {
        sql(strCat("CREATE TRIGGER no_", table, " BEFORE INSERT ON ", table, " WHEN ", when,
                   " BEGIN SELECT RAISE(ABORT, 'damaged'); END"));
    }
    void allow(const std::string& table) { sql("DROP TRIGGER no_" + table); }

    LineIntake intake;
    std::string id;
};

/// Holds a write lock on the file, so that a commit fails as on a bad disk.
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

TEST_F(IntakeTest, ACheckpointWhoseFileIsOnItsNodeIsAcknowledgedAndNotStored) {
    rank::RankLine line;
    line.seq = 1;
    line.attempt = 1;
    line.body = rank::Checkpoint{8, "step-00000008.a1.safetensors", 1, "hash", "{}"};
    ASSERT_TRUE(intake.add(1, sender(id, 1), line, false));
    const IntakeReport report = intake.flush();
    ASSERT_EQ(report.acks.size(), 1u);
    EXPECT_EQ(report.acks[0].seq, 1u) << "its rank goes on";
    EXPECT_TRUE(store->checkpoints(id, true)->empty());
    line.seq = 2;
    ASSERT_TRUE(intake.add(1, sender(id, 1), line, true));
    (void)intake.flush();
    EXPECT_EQ(store->checkpoints(id, true)->size(), 1u);
}

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

TEST_F(IntakeTest, WhatTheStoreHasIsToldAgainWhereItsAcknowledgementWasLost) {
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        ASSERT_TRUE(add(seq));
    }
    (void)intake.flush();
    LineIntake next(*store, clock);  // of the head after this one
    for (std::uint64_t seq = 2; seq <= 4; ++seq) {
        rank::RankLine line;
        line.seq = seq;
        line.attempt = 1;
        line.body = rank::Done{3, 3, "{}", {}, {}};
        ASSERT_TRUE(next.add(1, sender(id, 1), line));
        ASSERT_TRUE(next.add(1, sender(id, 1), line)) << "again, while it waits";
    }
    const IntakeReport report = next.flush();
    EXPECT_EQ(report.committed.size(), 3u);
    EXPECT_EQ(report.acks.at(0).seq, 4u);
}

// Commit frames of the write-ahead log
// (https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
int numTransactions(const std::string& store) {
    const std::string log = readFile(store + "-wal").value_or("");
    const auto numberAt = [&](std::size_t at) {
        std::uint32_t number = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            number = number << 8 | static_cast<unsigned char>(log[at + i]);
        }
        return number;
    };
    constexpr std::size_t kHeader = 32, kFrameHeader = 24;
    int count = 0;
    for (std::size_t at = kHeader; at + kFrameHeader <= log.size();
         at += kFrameHeader + numberAt(8)) {
        count += numberAt(at + 4) != 0 ? 1 : 0;
    }
    return count;
}

TEST_F(IntakeTest, LinesOfManyWorkersGoInWithOneTransaction) {
    constexpr int kRanks = 50;
    for (int rank = 0; rank < kRanks; ++rank) {
        ASSERT_TRUE(addOf(rank, 1));
    }
    const int before = numTransactions(root + "/runs.sqlite");
    const IntakeReport report = intake.flush();
    EXPECT_EQ(report.committed.size(), std::size_t{kRanks});
    EXPECT_EQ(report.acks.size(), std::size_t{kRanks});
    EXPECT_EQ(numTransactions(root + "/runs.sqlite") - before, 1);
    EXPECT_EQ(store->ackedSeq(id, 1, "rank49").value(), 1);
}

TEST_F(IntakeTest, ALineThatCannotGoInHoldsBackNoOtherWorkers) {
    refuse("metric_line", "new.step = 2");
    for (int rank = 0; rank < 3; ++rank) {
        ASSERT_TRUE(addOf(rank, rank == 1 ? 2 : 1));
    }
    const IntakeReport report = intake.flush();
    EXPECT_EQ(store->ackedSeq(id, 1, "rank0").value(), 1);
    EXPECT_EQ(store->ackedSeq(id, 1, "rank2").value(), 1);
    EXPECT_EQ(report.committed.size(), 2U);
    EXPECT_EQ(report.acks.size(), 3U) << "the third is left out";
}

TEST_F(IntakeTest, LinesSentAgainAreNotStoredTwice) {
    ASSERT_TRUE(add(1));
    ASSERT_TRUE(add(2));
    ASSERT_TRUE(add(1, 2));  // a new connection, before the commit
    EXPECT_EQ(intake.flush().committed.size(), 2u);
    ASSERT_TRUE(add(1, 2));  // and after it
    const IntakeReport again = intake.flush();
    EXPECT_EQ(again.acks.at(0).seq, 1u);
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

TEST_F(IntakeTest, LinesOfAnUnknownRunAreLeftOutAndAcknowledged) {
    rank::RankLine line;
    line.seq = 3;
    line.attempt = 1;
    line.body = rank::Metrics{1, 0, 1, 1, {{"loss", 0.5}}};
    ASSERT_TRUE(intake.add(1, sender("r-nobody", 1), line));
    const IntakeReport report = intake.flush();
    EXPECT_TRUE(report.committed.empty());
    EXPECT_EQ(report.acks.at(0).seq, 3u);
}

TEST_F(IntakeTest, ALineThatNeverGoesInIsFoundAndThoseAroundItAreStored) {
    refuse("metric_line", "new.step = 13");
    for (std::uint64_t seq = 1; seq <= 40; ++seq) {
        ASSERT_TRUE(add(seq));
    }
    const IntakeReport report = intake.flush();
    EXPECT_EQ(report.acks.back().seq, 40u);
    EXPECT_EQ(report.committed.size(), 39u);
    EXPECT_TRUE(intake.isEmpty());
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 39u);
    EXPECT_THAT(intake.trouble(id), ::testing::HasSubstr("could not be stored and are lost"));
}

TEST_F(IntakeTest, ARunWhoseLinesAllFailIsLeftOutInFewStepsAndItsEndIsHeard) {
    refuse("metric_line", "1");
    for (std::uint64_t seq = 1; seq <= 900; ++seq) {
        ASSERT_TRUE(add(seq));
    }
    rank::RankLine done;
    done.seq = 901;
    done.attempt = 1;
    done.body = rank::Done{900, 900, "", {}, {}};
    ASSERT_TRUE(intake.add(1, sender(id, 1), done));
    const IntakeReport report = intake.flush();
    EXPECT_EQ(report.acks.back().seq, 901u);
    EXPECT_TRUE(std::holds_alternative<rank::Done>(report.committed.back().line.body));
    EXPECT_EQ(store->ackedSeq(id, 1, "rank0").value(), 901);
}

TEST_F(IntakeTest, OneRunsDamageHoldsBackNoOtherRun) {
    refuse("metric_line", "new.step = 2");
    refuse("worker", strCat("new.run_no = (SELECT no FROM run WHERE id = '", id, "')"));
    runs::RunRecord run;
    run.name = "other";
    const std::string other = store->create(run)->run.id;
    ASSERT_TRUE(store->beginAttempt(other, 1, 0).ok());
    ASSERT_TRUE(add(1));
    ASSERT_TRUE(add(2));
    rank::RankLine line;
    line.seq = 1;
    line.attempt = 1;
    line.body = rank::Metrics{1, 0, 1, 1, {{"loss", 0.5}}};
    ASSERT_TRUE(intake.add(9, sender(other, 1), line));
    const IntakeReport report = intake.flush();
    const auto isOthers = [&](const AckOrder& ack) { return ack.runId == other; };
    EXPECT_EQ(std::count_if(report.acks.begin(), report.acks.end(), isOthers), 1);
    EXPECT_TRUE(intake.isEmpty(other));
    EXPECT_EQ(intake.trouble(other), "");
    EXPECT_FALSE(intake.isEmpty(id));
    EXPECT_THAT(intake.trouble(id), ::testing::HasSubstr("metrics wait"));
    EXPECT_TRUE(intake.flush().acks.empty()) << "not at once";
}

TEST_F(IntakeTest, ARunThatKeepsFailingIsTriedLaterAndLater) {
    refuse("metric_line", "1");
    refuse("worker", "1");
    ASSERT_TRUE(add(1));
    (void)intake.flush();
    allow("metric_line");
    allow("worker");
    clock.advanceMs(900);
    EXPECT_TRUE(intake.flush().acks.empty());
    refuse("metric_line", "1");
    refuse("worker", "1");
    clock.advanceMs(200);
    (void)intake.flush();
    allow("metric_line");
    allow("worker");
    clock.advanceMs(1'500);
    EXPECT_TRUE(intake.flush().acks.empty()) << "two seconds now";
    clock.advanceMs(600);
    EXPECT_EQ(intake.flush().acks.at(0).seq, 1u);
    EXPECT_EQ(intake.trouble(id), "");
}

TEST_F(IntakeTest, ARunThatHasFailedForLongIsTriedAgainWithinFourSeconds) {
    refuse("metric_line", "1");
    refuse("worker", "1");
    ASSERT_TRUE(add(1));
    for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(intake.flush().acks.empty());
        clock.advanceMs(1'000);
    }
    allow("metric_line");
    allow("worker");
    clock.advanceMs(4'000);
    EXPECT_EQ(intake.flush().acks.size(), 1u);
}

TEST_F(IntakeTest, RoomIsCountedInBytes) {
    rank::RankLine line;
    line.attempt = 1;
    line.body = rank::ErrorLine{std::string(1'000'000, 'x')};
    std::size_t taken = 0;
    for (line.seq = 1; line.seq <= 100; ++line.seq) {
        if (!intake.add(1, sender(id, 1), line)) {
            break;
        }
        ++taken;
    }
    EXPECT_LE(taken * 1'000'000, LineIntake::kMaxWorkerBytes);
    EXPECT_GT(taken, 10u);
}

TEST_F(IntakeTest, RoomOfAllWorkersTogetherIsBounded) {
    // A receipt counts with the size of its parsed tree, which is larger than its text.
    rank::RankLine receipt;
    receipt.attempt = 1;
    receipt.seq = 1;
    receipt.body = rank::ReceiptLine{Json{{"packages", std::string(1'900'000, 'x')}}};
    ASSERT_LT(bytesOf(receipt), LineIntake::kMaxWorkerBytes);
    const auto from = [this](int rank) { return rank::Sender{id, 1, "rank", rank, 100}; };
    const auto workers = static_cast<int>(LineIntake::kMaxBytes / bytesOf(receipt)) + 1;
    rank::RankLine small;
    small.attempt = 1;
    small.seq = 2;
    small.body = rank::Metrics{2, 0, 1, 1, {{"loss", 0.5}}};
    for (int rank = 0; rank < workers; ++rank) {
        ASSERT_TRUE(intake.add(1, from(rank), receipt)) << "each has room for one line";
    }
    EXPECT_FALSE(intake.add(1, from(0), small)) << "the others hold all of it";
    ASSERT_EQ(intake.flush().acks.size(), static_cast<std::size_t>(workers));
    EXPECT_TRUE(intake.add(1, from(0), small));
}

TEST_F(IntakeTest, FiguresOfTheDaemonsOwnWaitInAMinutesNumberOnly) {
    const auto own = [&](std::int64_t step) {
        runs::ReportedLine line;
        line.step = step;
        line.values = {{"system.cpu_percent", 1.0}};
        intake.addOwn(id, 1, {line});
    };
    for (std::int64_t step = 1; step <= 100; ++step) {
        own(step);
    }
    (void)intake.flush();
    const auto series = store->metrics(id, "system.cpu_percent");
    ASSERT_TRUE(series.ok()) << series.status();
    EXPECT_EQ(series->points.size(), 60u);
    EXPECT_EQ(series->points.back().step, 100) << "the oldest go";
}

TEST_F(IntakeTest, AMetricBeyondTheLimitIsSaid) {
    rank::RankLine line;
    line.attempt = 1;
    rank::Metrics metrics{1, 0, 1, 1, {}};
    metrics.values[std::string(runs::kMetricKeyBytesMax + 1, 'm')] = 1;
    metrics.values["loss"] = 0.5;
    line.body = metrics;
    for (line.seq = 1; line.seq <= 3; ++line.seq) {
        ASSERT_TRUE(intake.add(1, sender(id, 1), line));
        EXPECT_EQ(intake.flush().acks.at(0).seq, line.seq);
    }
    EXPECT_THAT(intake.trouble(id), ::testing::HasSubstr("is not stored"));
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 3u);
}

}  // namespace
}  // namespace millrace::agent

// A follower of a log reads only when there is something to read, and ends with its run.
#include "daemon/agent/log_follower.h"

#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Logs in files with counted calls; the test announces news.
class CountedLogs final : public job::WorkerLogs {
 public:
    explicit CountedLogs(std::string root) : files_(std::move(root)) {}
    std::vector<int> attempts(const std::string& run) const override {
        ++numLooks;
        ++numLists;
        return files_.attempts(run);
    }
    std::vector<std::string> workers(const std::string& run, int attempt) const override {
        ++numLooks;
        return files_.workers(run, attempt);
    }
    Result<job::LogBlock> read(const job::LogKey& key, std::uint64_t from,
                               std::size_t maxBytes) const override {
        ++numLooks;
        return files_.read(key, from, maxBytes);
    }
    Result<job::LogBlock> readBack(const job::LogKey& key, std::uint64_t before,
                                   std::size_t maxBytes) const override {
        ++numLooks;
        return files_.readBack(key, before, maxBytes);
    }
    std::uint64_t end(const job::LogKey& key) const override {
        ++numLooks;
        return files_.end(key);
    }
    job::LogSubscription subscribe(const std::string&, job::OnLogNews onNews) const override {
        tellNews = std::move(onNews);
        return std::make_shared<int>();
    }

    mutable int numLooks = 0, numLists = 0;
    mutable job::OnLogNews tellNews;

 private:
    const job::FileLogs files_;
};

class LogFollowerTest : public AgentTest {
 protected:
    LogFollowerTest() : counted(root + "/runs"), id(submit()) {
        hello(id);
        write("a");
    }
    void write(const std::string& text, const std::string& worker = "rank0") const {
        const std::string folder = job::RunPaths(root + "/runs", id).attempt(1).worker(worker);
        std::filesystem::create_directories(folder);
        std::ofstream(folder + "/out.log", std::ios::app)
            << "2026-03-01T12:00:01.000Z o " << text << "\n";
    }
    LogFollower follow(bool isFollowing = true) {
        LogQuery query;
        query.isFollowing = isFollowing;
        return LogFollower::open({*store, live}, counted, id, query, [this] { ++numNews; }).value();
    }
    static std::vector<std::string> texts(const LogFollower::Turn& turn) {
        std::vector<std::string> all;
        for (const values::LogLine& line : turn.chunk.lines) {
            all.push_back(line.text);
        }
        return all;
    }

    const CountedLogs counted;
    const std::string id;
    int numNews = 0;
};

TEST_F(LogFollowerTest, AFollowerOfASilentRunLooksAtNothing) {
    LogFollower follower = follow();
    EXPECT_THAT(texts(follower.next(100)), ElementsAre("a"));
    counted.numLooks = 0;
    live.touch();  // the store has other news
    EXPECT_THAT(texts(follower.next(100)), IsEmpty());
    EXPECT_THAT(texts(follower.next(100)), IsEmpty());
    EXPECT_EQ(counted.numLooks, 0);
    write("b");
    counted.tellNews(job::LogNews::kLines);
    EXPECT_EQ(numNews, 1) << "the follower is woken";
    EXPECT_THAT(texts(follower.next(100)), ElementsAre("b"));
}

TEST_F(LogFollowerTest, WorkersAreListedWhenSomeMayHaveComeAndAtTheRunsEnd) {
    LogFollower follower = follow();
    EXPECT_THAT(texts(follower.next(100)), ElementsAre("a"));
    EXPECT_EQ(counted.numLists, 1);
    write("b");
    write("c", "rank1");
    counted.tellNews(job::LogNews::kLines);
    EXPECT_THAT(texts(follower.next(100)), ElementsAre("b"));
    EXPECT_EQ(counted.numLists, 1);
    counted.tellNews(job::LogNews::kWorkers);
    counted.tellNews(job::LogNews::kLines);
    EXPECT_THAT(texts(follower.next(100)), ElementsAre("c"));
    EXPECT_EQ(counted.numLists, 2);
    write("d", "rank2");  // not announced yet
    leave(id);
    endGang(id, 1, kExitInput);
    const LogFollower::Turn last = follower.next(100);
    EXPECT_THAT(texts(last), ElementsAre("d"));
    EXPECT_TRUE(last.chunk.isEnd);
}

TEST_F(LogFollowerTest, WhatDidNotFitComesWithoutFurtherNews) {
    write("b");
    write("c");
    LogFollower follower = follow();
    LogFollower::Turn turn = follower.next(2);
    EXPECT_THAT(texts(turn), ElementsAre("a", "b"));
    EXPECT_TRUE(turn.isMore);
    turn = follower.next(2);
    EXPECT_THAT(texts(turn), ElementsAre("c"));
    EXPECT_FALSE(turn.isMore);
}

TEST_F(LogFollowerTest, ItEndsWithTheRunAndItsLastLines) {
    LogFollower follower = follow();
    EXPECT_FALSE(follower.next(100).chunk.isEnd);
    write("the last");
    leave(id);
    endGang(id, 1, kExitInput);
    ASSERT_EQ(record(id).state, values::RunState::kFailed);
    const LogFollower::Turn turn = follower.next(100);
    EXPECT_THAT(texts(turn), ElementsAre("the last"));
    EXPECT_TRUE(turn.chunk.isEnd);
}

TEST_F(LogFollowerTest, WhoDoesNotFollowIsToldWhatIsThere) {
    LogFollower follower = follow(false);
    const LogFollower::Turn turn = follower.next(100);
    EXPECT_THAT(texts(turn), ElementsAre("a"));
    EXPECT_TRUE(turn.chunk.isEnd);
    EXPECT_EQ(counted.tellNews, nullptr) << "nobody tells it";
}

}  // namespace
}  // namespace millrace::agent

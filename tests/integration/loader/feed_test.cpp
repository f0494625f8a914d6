// The role feed between a daemon's rank socket and a rank that reads the ring.
#include <thread>

#include "backend/stream/receipt.h"
#include "tests/integration/loader/feed_program.h"

namespace millrace {
namespace {

TEST_F(FeedProgram, ServesTrainAndEvalAndEndsWithItsRank) {
    startDaemonSide();
    startFeed();
    millrace_feed* train = connect("train");
    ASSERT_NE(train, nullptr);
    std::uint64_t rows = 0, next = 0;
    ASSERT_EQ(read(train, 10, rows, next), MILLRACE_FEED_BATCH) << millrace_feed_error(train);
    for (int pass = 0; pass < 2; ++pass) {
        millrace_feed* eval = connect("eval");
        ASSERT_NE(eval, nullptr);
        std::uint64_t evalRows = 0;
        EXPECT_EQ(read(eval, 1000, evalRows, next), MILLRACE_FEED_END_OF_STREAM)
            << millrace_feed_error(eval);
        EXPECT_EQ(evalRows, 600U);
        millrace_feed_close(eval);
    }
    EXPECT_EQ(read(train, 100000, rows, next), MILLRACE_FEED_END_OF_STREAM)
        << millrace_feed_error(train);
    EXPECT_EQ(rows, 10800U);
    millrace_feed_close(train);
    EXPECT_EQ(*feed_->wait(), 0);
    MutexLock lock(mutex_);
    EXPECT_EQ(error_, "");
    EXPECT_EQ(metrics_.count("loader.rows_read_per_second"), 1U);
}

TEST_F(FeedProgram, ARankThatDiesGoesOnWhereItStood) {
    startDaemonSide();
    startFeed();
    millrace_feed* first = connect("train");
    ASSERT_NE(first, nullptr);
    std::uint64_t rows = 0, next = 0;
    ASSERT_EQ(read(first, 37, rows, next), MILLRACE_FEED_BATCH);
    char* state = millrace_feed_state(first, 0, 36);
    ASSERT_NE(state, nullptr) << millrace_feed_error(first);
    millrace_feed_close(first);
    millrace_feed* second = connect("train", state);
    ASSERT_NE(second, nullptr);
    std::free(state);
    EXPECT_EQ(read(second, 100000, rows, next), MILLRACE_FEED_END_OF_STREAM)
        << millrace_feed_error(second);
    EXPECT_EQ(rows, 10800U + 16U) << "micro-batch 36 came twice: it lay behind the state";
    char* end = millrace_feed_state(second, 2, 0);
    ASSERT_NE(end, nullptr) << millrace_feed_error(second);
    const auto parsed = stream::StreamState::fromText(end);
    std::free(end);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->orderHash.hex(), report()["order_hash"].get<std::string>());
    EXPECT_EQ(parsed->sums.rowsKept, 10800);
    EXPECT_EQ(parsed->rowsDelivered, 10800);
    millrace_feed_close(second);
    EXPECT_EQ(*feed_->wait(), 0);
}

TEST_F(FeedProgram, ADataErrorReachesRankAndDaemon) {
    startDaemonSide();
    startFeed();
    std::ofstream(directory_ / "part-2.csv", std::ios::trunc) << "user,value,label,tags\n1,2\n";
    millrace_feed* train = connect("train");
    ASSERT_NE(train, nullptr);
    std::uint64_t rows = 0, next = 0;
    EXPECT_EQ(read(train, 100000, rows, next), MILLRACE_FEED_FAILED);
    EXPECT_NE(std::string(millrace_feed_error(train)).find("part-2.csv"), std::string::npos)
        << millrace_feed_error(train);
    millrace_feed_close(train);
    EXPECT_EQ(*feed_->wait(), 4);
    MutexLock lock(mutex_);
    EXPECT_NE(error_.find("part-2.csv"), std::string::npos) << error_;
}

TEST_F(FeedProgram, EndsOnTheDaemonsStop) {
    startDaemonSide();
    startFeed();
    millrace_feed* train = connect("train");
    ASSERT_NE(train, nullptr);
    std::uint64_t rows = 0, next = 0;
    ASSERT_EQ(read(train, 3, rows, next), MILLRACE_FEED_BATCH);
    rank::ConnectionId connection = 0;
    for (int i = 0; i < 500 && connection == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        MutexLock lock(mutex_);
        connection = connection_;
    }
    server_->stop(connection);
    EXPECT_EQ(*feed_->wait(), 3);
    millrace_feed_close(train);
}

}  // namespace
}  // namespace millrace

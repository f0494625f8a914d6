// The role feed between a daemon's rank socket and a rank that reads the ring.
#include <thread>

#include "backend/core/mutex.h"
#include "backend/rank/rank_server.h"
#include "backend/ring/feed_reader.h"
#include "backend/stream/receipt.h"
#include "tests/integration/loader/loader_program.h"

namespace millrace {
namespace {

class FeedProgram : public LoaderProgram {
 protected:
    void startDaemonSide() {
        rank::RankServerOptions options;
        options.socketPath = directory_ / "rank.sock";
        options.onHello = [](rank::ConnectionId, const rank::Sender&) { return okStatus(); };
        options.onLine = [this](rank::ConnectionId connection, const rank::Sender&,
                                const rank::RankLine& line) {
            {
                MutexLock lock(mutex_);
                if (const auto* error = std::get_if<rank::ErrorLine>(&line.body)) {
                    error_ = error->message;
                }
                if (const auto* metrics = std::get_if<rank::Metrics>(&line.body)) {
                    metrics_ = metrics->values;
                }
                connection_ = connection;
            }
            server_->ack(connection, line.attempt, line.seq);
        };
        options.onClosed = [](rank::ConnectionId, const rank::Sender&, const std::string&) {};
        auto server = rank::RankServer::start(options);
        ASSERT_TRUE(server.ok()) << server.status();
        server_ = std::move(*server);
    }

    void startFeed() {
        const Json answer = inspect(resolveRequest(spec()));
        ASSERT_EQ(answer["ok"], true) << dumpJson(answer);
        const Json& resolved = answer["runs"][0];
        write("job.json", dumpJson({{"run", "r-test"},
                                    {"attempt", 1},
                                    {"spec", resolved["spec"]},
                                    {"plan", resolved["plan"]},
                                    {"rank_socket", directory_ / "rank.sock"},
                                    {"feed_socket", directory_ / "feed.sock"}}));
        SubprocessOptions options;
        options.argv = {loaderProgram(), "feed", "--job", directory_ / "job.json"};
        auto child = Subprocess::start(options);
        ASSERT_TRUE(child.ok()) << child.status();
        feed_ = std::make_unique<Subprocess>(std::move(*child));
    }

    millrace_feed* connect(const char* stream, const char* state = nullptr) {
        millrace_feed_options options{};
        options.struct_size = sizeof options;
        options.world_size = 1;
        options.abort_fd = -1;
        options.attempt = 1;
        options.stream = stream;
        options.state = state;
        options.connect_timeout_ms = 20'000;
        millrace_feed* feed = nullptr;
        char error[512] = "";
        EXPECT_EQ(millrace_feed_open((directory_ / "feed.sock").c_str(), &options, &feed, error,
                                     sizeof error),
                  0)
            << error;
        return feed;
    }

    // Reads at most `most` batches; the last result.
    int read(millrace_feed* feed, std::int64_t most, std::uint64_t& rows, std::uint64_t& next) {
        millrace_feed_event event{};
        int result = MILLRACE_FEED_BATCH;
        while (most-- > 0) {
            do {
                result = millrace_feed_next(feed, 60'000, &event);
            } while (result == MILLRACE_FEED_END_OF_EPOCH);
            if (result != MILLRACE_FEED_BATCH) {
                break;
            }
            rows += millrace_batch_rows(event.batch);
            next = event.number + 1;
            millrace_batch_release(event.batch);
        }
        return result;
    }

    Mutex mutex_;
    std::string error_ MR_GUARDED_BY(mutex_);
    rank::Values metrics_ MR_GUARDED_BY(mutex_);
    rank::ConnectionId connection_ MR_GUARDED_BY(mutex_) = 0;
    std::unique_ptr<rank::RankServer> server_;
    std::unique_ptr<Subprocess> feed_;
};

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

// The role feed between a daemon's rank socket and a rank that reads the ring.
#include <map>
#include <thread>

#include "backend/stream/read_state.h"
#include "backend/stream/receipt.h"
#include "backend/system/unix_socket.h"
#include "tests/integration/loader/feed_program.h"
#include "tests/support/poll.h"

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
    EXPECT_GT(metricsStep_, 0) << "the last figures belong to the last step";
    EXPECT_EQ(metricsRows_, 10'800);
}

TEST_F(FeedProgram, FiguresOfAResumedRunBelongToStepsAfterItsCheckpoint) {
    startDaemonSide();
    writeJob(spec(), 0, directory_ / "checkpoints/step-00005000.a1.safetensors");
    startWrittenJob();
    millrace_feed* train = connect("train");
    ASSERT_NE(train, nullptr);
    std::uint64_t rows = 0, next = 0;
    EXPECT_EQ(read(train, 100000, rows, next), MILLRACE_FEED_END_OF_STREAM)
        << millrace_feed_error(train);
    millrace_feed_close(train);
    EXPECT_EQ(*feed_->wait(), 0);
    MutexLock lock(mutex_);
    EXPECT_GT(metricsStep_, 5'000);
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
    millrace_free(state);
    EXPECT_EQ(read(second, 100000, rows, next), MILLRACE_FEED_END_OF_STREAM)
        << millrace_feed_error(second);
    EXPECT_EQ(rows, 10800U + 16U) << "micro-batch 36 is delivered again: the state is before it";
    char* end = millrace_feed_state(second, 2, 0);
    ASSERT_NE(end, nullptr) << millrace_feed_error(second);
    const auto parsed = stream::readState(end);
    millrace_free(end);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->orderHash.hex(), report()["order_hash"].get<std::string>());
    EXPECT_EQ(parsed->sums.rowsKept, 10800);
    EXPECT_EQ(parsed->rowsDelivered, 10800);
    millrace_feed_close(second);
    EXPECT_EQ(*feed_->wait(), 0);
}

TEST_F(FeedProgram, NamesTheRankThatItHungUpOnAndThatDoesNotComeAgain) {
    startDaemonSide();
    startFeed(spec() + "train: {ranks: 2}\n");
    millrace_feed* second = connect("train", nullptr, 1, 2);
    ASSERT_NE(second, nullptr);
    // A reader of rank 0 that does not support reconnecting.
    const Result<UniqueFd> first = connectUnix(directory_ / "feed.sock");
    ASSERT_TRUE(first.ok()) << first.status();
    const std::string hello = R"({"version":2,"attempt":1,"rank":0,"world_size":2,)"
                              R"("stream":"train","state":null,"next":{"epoch":0,"number":0}})";
    ASSERT_TRUE(sendWithFds(first->get(), hello + "\n", {}).ok());
    std::uint64_t rows = 0, next = 0;
    ASSERT_EQ(readStep(second, rows, next), MILLRACE_FEED_STEP) << millrace_feed_error(second);
    EXPECT_TRUE(awaits(-1));
    char* state = millrace_feed_state(second, 0, next);
    ASSERT_NE(state, nullptr) << millrace_feed_error(second);
    millrace_feed_close(second);
    second = connect("train", state, 1, 2);
    millrace_free(state);
    ASSERT_NE(second, nullptr);
    EXPECT_TRUE(awaits(0));
    millrace_feed* again = connect("train", nullptr, 0, 2);
    ASSERT_NE(again, nullptr);
    EXPECT_TRUE(awaits(-1));
    EXPECT_EQ(readStep(second, rows, next), MILLRACE_FEED_STEP) << millrace_feed_error(second);
    millrace_feed_close(again);
    millrace_feed_close(second);
}

/// Rows whose counts can be computed by hand: a filter with nulls, a join without partners, a
/// vocabulary with unknown ids.
class CountedFeed : public FeedProgram {
 protected:
    static constexpr int kFiles = 3, kRows = 2000, kEpochs = 2;

    void SetUp() override {
        std::map<std::string, std::int64_t> counts;
        for (int f = 0; f < kFiles; ++f) {
            std::ofstream out(directory_ / strCat("rows-", f, ".csv"));
            out << "user,value,item,label\n";
            for (int r = 0; r < kRows; ++r) {
                const int user = r % 37, value = r % 11, item = r % 23;
                const bool hasValue = r % 10 != 4, hasItem = r % 13 != 5;
                out << user << ',' << (hasValue ? strCat(value) : "") << ','
                    << (hasItem ? strCat(item) : "") << ',' << r % 2 << '\n';
                count(user, hasValue ? value : -1, hasItem ? item : -1, counts);
            }
        }
        for (const auto& [name, rows] : counts) {
            expected_[name] = rows * kEpochs;
        }
        std::string users = "user,age\n", items = "item\n";
        for (int i = 0; i < 20; ++i) {
            users += strCat(i, ",", 20 + i, "\n");
            items += i < 15 ? strCat(i, "\n") : "";
        }
        write("users.csv", users);
        write("items.csv", items);
        write("spec.yaml", counted());
    }
    static void count(int user, int value, int item, std::map<std::string, std::int64_t>& counts) {
        if (user == 5) {
            ++counts["step/0/false"];
        } else if (value < 0 || value == 3) {
            ++counts[value < 0 ? "step/1/null" : "step/1/false"];
        } else if (user >= 20) {
            ++counts["step/2/no partner"];
        } else if (item >= 0) {
            ++counts["ids/item"];
            counts["unknown/item"] += item >= 15 ? 1 : 0;
        }
    }
    static std::string counted() {
        return strCat(
            "name: counted\ndataset: {path: \"rows-*.csv\", csv_split_rows: 256, "
            "where: user <> 5}\nrecipe:\n"
            "  - {name: valued, filter: value <> 3}\n"
            "  - {name: known, join: {table: users.csv, on: user, take: [age], missing: drop}}\n"
            "labels: {label: label}\n"
            "features: {dense: [age], ids: [item]}\n"
            "embeddings: {item: {vocabulary: {table: items.csv, column: item}}}\n"
            "model: {type: mlp, hidden: [4]}\n"
            "batch: {rows: 64, micro_rows: 16, seed: 7, segment_splits: 1, epochs: ",
            kEpochs, "}\n");
    }
    /// The state at the end of the stream of `feed`; closes the feed.
    static stream::StreamState endOf(millrace_feed* feed) {
        char* text = millrace_feed_state(feed, kEpochs, 0);
        EXPECT_NE(text, nullptr) << millrace_feed_error(feed);
        auto state = stream::readState(text == nullptr ? "" : text);
        EXPECT_TRUE(state.ok()) << state.status();
        millrace_free(text);
        millrace_feed_close(feed);
        return state.ok() ? *state : stream::StreamState{};
    }

    std::map<std::string, std::int64_t> expected_;
};

TEST_F(CountedFeed, ReasonsAndUnknownIdsReachTheReceipt) {
    startDaemonSide();
    startFeed(counted());
    millrace_feed* train = connect("train");
    ASSERT_NE(train, nullptr);
    std::uint64_t rows = 0, next = 0;
    ASSERT_EQ(read(train, 100000, rows, next), MILLRACE_FEED_END_OF_STREAM)
        << millrace_feed_error(train);
    const stream::StreamState end = endOf(train);
    EXPECT_EQ(end.sums.counts, expected_);
    EXPECT_EQ(*feed_->wait(), 0);

    const stream::Receipt receipt =
        stream::Receipt::of({}, end, {"where", "valued", "known"}, end.rowsDelivered);
    ASSERT_EQ(receipt.steps.size(), 3U);
    const Json streamed = report();
    for (std::size_t s = 0; s < receipt.steps.size(); ++s) {
        const stream::ReceiptStep& step = receipt.steps[s];
        std::int64_t dropped = 0;
        for (const stream::ReceiptReason& reason : step.reasons) {
            dropped += reason.rows;
            EXPECT_EQ(reason.rows, streamed["steps"][s]["reasons"][reason.name]) << reason.name;
        }
        EXPECT_GT(dropped, 0);
        EXPECT_EQ(dropped, step.rowsIn - step.rowsOut) << step.name;
    }
    EXPECT_EQ(receipt.steps[1].reasons,
              (std::vector<stream::ReceiptReason>{{"false", expected_["step/1/false"]},
                                                  {"null", expected_["step/1/null"]}}));
    EXPECT_EQ(receipt.vocabularies,
              (std::vector<stream::ReceiptVocabulary>{
                  {"item", expected_["ids/item"], expected_["unknown/item"]}}));
    EXPECT_EQ(receipt.vocabularies[0].unknown, streamed["vocabularies"][0]["unknown"]);
}

TEST_F(CountedFeed, ResumedFromAnyStepTheCountsAreThoseOfOneRun) {
    startDaemonSide();
    startFeed(counted());
    std::string state;
    std::uint64_t rows = 0, next = 0;
    for (const int batches : {1, 36, 60, 7}) {
        millrace_feed* part = connect("train", state.empty() ? nullptr : state.c_str());
        ASSERT_NE(part, nullptr);
        ASSERT_EQ(read(part, batches, rows, next), MILLRACE_FEED_BATCH);
        EXPECT_EQ(millrace_feed_state(part, 0, next), nullptr) << "within a step";
        ASSERT_EQ(readStep(part, rows, next), MILLRACE_FEED_STEP);
        char* text = millrace_feed_state(part, 0, next);
        ASSERT_NE(text, nullptr) << millrace_feed_error(part);
        state = text;
        millrace_free(text);
        millrace_feed_close(part);
    }
    millrace_feed* last = connect("train", state.c_str());
    ASSERT_NE(last, nullptr);
    ASSERT_EQ(read(last, 100000, rows, next), MILLRACE_FEED_END_OF_STREAM)
        << millrace_feed_error(last);
    const stream::StreamState end = endOf(last);
    EXPECT_EQ(end.sums.counts, expected_);
    EXPECT_EQ(static_cast<std::uint64_t>(end.rowsDelivered), rows);
    EXPECT_EQ(*feed_->wait(), 0);
}

TEST_F(FeedProgram, ADataErrorReachesRankAndDaemon) {
    startDaemonSide();
    writeJob(spec());
    std::ofstream(directory_ / "part-2.csv", std::ios::trunc) << "user,value,label,tags\n1,2\n";
    startWrittenJob();
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

TEST_F(FeedProgram, WorksBeforeItsRankHasCome) {
    startDaemonSide();
    startFeed();
    ASSERT_TRUE(works());
    millrace_feed* train = connect("train");
    ASSERT_NE(train, nullptr);
    std::uint64_t rows = 0, next = 0;
    EXPECT_EQ(read(train, 100000, rows, next), MILLRACE_FEED_END_OF_STREAM)
        << millrace_feed_error(train);
    EXPECT_EQ(rows, 10800U);
    char* end = millrace_feed_state(train, 2, 0);
    ASSERT_NE(end, nullptr) << millrace_feed_error(train);
    const auto parsed = stream::readState(end);
    millrace_free(end);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->orderHash.hex(), report()["order_hash"].get<std::string>());
    millrace_feed_close(train);
    EXPECT_EQ(*feed_->wait(), 0);
}

TEST_F(FeedProgram, ARankThatComesWithAStateHasTheStreamFromThere) {
    startDaemonSide();
    startFeed();
    millrace_feed* before = connect("train");
    ASSERT_NE(before, nullptr);
    std::uint64_t rows = 0, next = 0;
    ASSERT_EQ(readStep(before, rows, next), MILLRACE_FEED_STEP);
    char* state = millrace_feed_state(before, 0, static_cast<std::int64_t>(next));
    ASSERT_NE(state, nullptr) << millrace_feed_error(before);
    feed_->signal(SIGKILL);
    static_cast<void>(feed_->wait());
    millrace_feed_close(before);
    {
        MutexLock lock(mutex_);
        metrics_.clear();
    }
    startWrittenJob();
    ASSERT_TRUE(works()) << "from the start of the stream";
    millrace_feed* train = connect("train", state);
    millrace_free(state);
    ASSERT_NE(train, nullptr);
    EXPECT_EQ(read(train, 100000, rows, next), MILLRACE_FEED_END_OF_STREAM)
        << millrace_feed_error(train);
    EXPECT_EQ(rows, 10800U);
    millrace_feed_close(train);
    EXPECT_EQ(*feed_->wait(), 0);
}

TEST_F(FeedProgram, EndsOnTheDaemonsStopWhenNoRankHasCome) {
    startDaemonSide();
    startFeed();
    ASSERT_TRUE(works());
    rank::ConnectionId connection = 0;
    {
        MutexLock lock(mutex_);
        connection = connection_;
    }
    server_->stop(connection, {});
    EXPECT_EQ(*feed_->wait(), 3);
}

TEST_F(FeedProgram, EndsOnTheDaemonsStop) {
    startDaemonSide();
    startFeed();
    millrace_feed* train = connect("train");
    ASSERT_NE(train, nullptr);
    std::uint64_t rows = 0, next = 0;
    ASSERT_EQ(read(train, 3, rows, next), MILLRACE_FEED_BATCH);
    rank::ConnectionId connection = 0;
    const bool isConnected = test::eventually([&] {
        MutexLock lock(mutex_);
        connection = connection_;
        return connection != 0;
    });
    ASSERT_TRUE(isConnected);
    server_->stop(connection, {});
    EXPECT_EQ(*feed_->wait(), 3);
    millrace_feed_close(train);
}

}  // namespace
}  // namespace millrace

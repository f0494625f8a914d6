// Data workers without any failure: the stream equals that of one process, byte for byte.
#include "tests/integration/data/data_program.h"

namespace millrace {
namespace {

class DataWorkers : public DataProgram {
 protected:
    void expectSameWith(std::size_t workers, const std::vector<std::string>& feedArguments = {}) {
        startFeed(workers == 0 ? "{min: 0, max: 4}" : "{min: 1, max: 4}", feedArguments);
        std::vector<std::unique_ptr<Subprocess>> all;
        for (std::size_t w = 0; w < workers; ++w) {
            all.push_back(startWorker(strCat("worker-", w)));
        }
        awaitJoined(workers);
        expectSame(readStream(), report());
        expectEnd(feed_, 0);
        for (std::size_t w = 0; w < workers; ++w) {
            expectEnd(all[w], 0);
            EXPECT_EQ(numSaid(strCat("worker-", w), "data: computed segments=0"), 0U)
                << "this one did nothing";
            EXPECT_EQ(numSaid(strCat("worker-", w), "data: computed"), 1U)
                << said(strCat("worker-", w));
        }
        struct stat info{};
        EXPECT_NE(::stat(joinFile().c_str(), &info), 0) << "the join file is left over";
    }
};

TEST_F(DataWorkers, NoneIsNeeded) {
    expectSameWith(0);
}

TEST_F(DataWorkers, OneGivesTheSameStream) {
    expectSameWith(1);
}

TEST_F(DataWorkers, TwoGiveTheSameStream) {
    expectSameWith(2);
}

TEST_F(DataWorkers, FourGiveTheSameStream) {
    expectSameWith(4);
}

TEST_F(DataWorkers, OverTcpAndTlsItIsTheSameStream) {
    expectSameWith(2, {"--listen", "127.0.0.1"});
}

TEST_F(DataWorkers, OverTlsWithoutCodecsItIsTheSameStream) {
    expectSameWith(1, {"--listen", "127.0.0.1", "--uncoded"});
}

TEST_F(DataWorkers, AVariationThatIsOrderedAndOneThatKeepsFewRows) {
    for (const std::vector<std::string>& set :
         {std::vector<std::string>{"--set", "batch.order=as_is", "--set", "batch.shuffle=none"},
          std::vector<std::string>{"--set", "dataset.where=value % 401 = 7"},
          std::vector<std::string>{"--variation", "half"}}) {
        startFeed("{min: 1, max: 1}", set);
        auto worker = startWorker();
        expectSame(readStream(), report(set));
        expectEnd(feed_, 0);
        expectEnd(worker, 0);
    }
}

TEST_F(DataWorkers, AStreamThatIsResumedGoesOnWhereItWas) {
    const Json whole = report();
    for (const int batches : {1, 7, 100, 333, 400}) {
        const Json first = report({"--micro-batches", strCat(batches)});
        const std::string cursor = dumpJson(first["cursor"]);
        const Json rest = report({"--from", cursor});
        write("state.json", "");
        stream::StreamState state;
        const auto read = stream::readCursor(cursor);
        ASSERT_TRUE(read.ok()) << read.status();
        state.cursor = *read;
        write("state.json", state.toText());
        startFeed("{min: 1, max: 1}");
        auto worker = startWorker();
        expectSame(readStream({"--state", directory_ / "state.json"}), rest);
        expectEnd(feed_, 0);
        expectEnd(worker, 0);
    }
}

// The spec's key for data workers is enough: the feed writes the join file beside its socket.
TEST_F(DataWorkers, TheSpecsKeysAloneLetThemJoin) {
    feed_ = start("feed", {"feed", "--spec", directory_ / "spec.yaml", "--socket", socket(),
                           "--set", "resources.data_workers={min: 1, max: 2}"});
    auto worker =
        start("worker", {"data", "--join", socket() + ".join", "--wait", "20", "--threads", "1"});
    awaitJoined(1);
    expectSame(readStream(), report());
    expectEnd(feed_, 0);
    expectEnd(worker, 0);
}

// An error in the data comes at its place in the stream, with the text that the feed itself would
// report.
TEST_F(DataWorkers, DamagedDataIsToldAsByOneProcess) {
    const SubprocessOutput good = run({"count", "spec.yaml"});
    ASSERT_EQ(good.exitCode, 0) << good.err;
    startFeed("{min: 1, max: 1}");
    auto worker = startWorker();
    awaitJoined(1);
    std::string text = readFile(directory_ / "part-1.csv").value();
    text.replace(text.find("1501"), 4, "x5y1");
    write("part-1.csv", text);
    const SubprocessOutput read = run({"ring-reader", "--socket", socket(), "--reads"});
    EXPECT_NE(read.exitCode, 0);
    EXPECT_NE(read.err.find("part-1.csv"), std::string::npos) << read.err;
    expectEnd(feed_, 4);
}

TEST_F(DataWorkers, AJoinFileThatOthersCanReadIsRefused) {
    startFeed();
    ASSERT_TRUE(test::eventually([&] { return ::access(joinFile().c_str(), F_OK) == 0; }));
    ASSERT_EQ(::chmod(joinFile().c_str(), 0644), 0);
    auto worker = startWorker();
    expectEnd(worker, 4);
    EXPECT_EQ(numSaid("worker", "others may read it"), 1U) << said("worker");
}

TEST_F(DataWorkers, WithoutAFeedAWorkerSaysSo) {
    auto missing = start("missing", {"data", "--join", joinFile()});
    expectEnd(missing, 4);
    EXPECT_NE(said("missing").find(joinFile()), std::string::npos) << said("missing");
}

// Another feed writes the join file again, with another token.
TEST_F(DataWorkers, AWorkerJoinsTheFeedThatReplacesAKilledOne) {
    startFeed();
    auto worker = startWorker();
    awaitJoined(1);
    feed_->signal(SIGKILL);
    EXPECT_TRUE(feed_->wait().ok());
    startFeed();
    awaitJoined(2);
    expectSame(readStream(), report());
    expectEnd(feed_, 0);
    expectEnd(worker, 0);
    EXPECT_EQ(numSaid("worker", "data: joined"), 2U) << said("worker");
}

TEST_F(DataWorkers, AWorkerWhoseFeedDiedEndsAndSaysSo) {
    startFeed();
    auto worker = startWorker();
    awaitJoined(1);
    feed_->signal(SIGKILL);
    EXPECT_TRUE(feed_->wait().ok());
    ::unlink(joinFile().c_str());
    expectEnd(worker, 5);
    EXPECT_NE(said("worker").find("is gone"), std::string::npos) << said("worker");
}

}  // namespace
}  // namespace millrace

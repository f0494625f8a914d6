// Followers of a run over a real connection: commits wake them, and they get every line even if the
// connection breaks.
#include "app/client/grpc_client.h"
#include "app/session/follower.h"
#include "daemon/rpc/stream_writer.h"
#include "tests/support/runs_server.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::rpc {
namespace {

class FollowTest : public agent::AgentTest {
 protected:
    FollowTest() : path_(root + "/d.sock") {
        client::GrpcClientOptions options;
        options.address.unixPath = path_;
        client_ = client::makeGrpcClient(options);
        serve();
    }
    ~FollowTest() override {
        follower_.reset();
        server_.reset();
    }
    void serve() { server_ = std::make_unique<tests::RunsServer>(*service, path_); }
    void follow(const std::string& id) {
        session::FollowOptions options;
        options.runIds = {id};
        options.withRuns = false;
        options.withMetrics = true;
        follower_ = std::make_unique<session::Follower>(*client_, wall_, options);
    }
    // Reads until `count` lines are known, or until nothing has come for ten seconds.
    void readUntil(std::size_t count) {
        while (lines_.size() < count) {
            follower_->retryNow();
            const auto event = follower_->next(std::chrono::seconds(10));
            if (!event) {
                return;
            }
            take(*event);
        }
    }
    void take(const session::FollowEvent& event) {
        if (const auto* added = std::get_if<session::MetricsAdded>(&event)) {
            for (const values::MetricLine& line : added->lines) {
                ASSERT_EQ(line.values.size(), 1U);
                EXPECT_EQ(added->names->at(line.values[0].key), "loss");
                lines_.push_back(line);
            }
        } else if (const auto* replaced = std::get_if<session::MetricsReplaced>(&event)) {
            std::erase_if(lines_, [&](const values::MetricLine& line) {
                return line.step > replaced->afterStep;
            });
        }
    }
    std::vector<std::pair<std::int64_t, double>> told() const {
        std::vector<std::pair<std::int64_t, double>> all;
        for (const values::MetricLine& line : lines_) {
            all.emplace_back(line.step, line.values[0].value);
        }
        return all;
    }
    void train(const std::string& id, int attempt, std::int64_t from, std::int64_t to,
               double value) {
        for (std::int64_t step = from; step <= to; ++step) {
            say(id, static_cast<std::uint64_t>(step),
                rank::Metrics{step, 0, step, 5, {{"loss", value}}}, attempt);
        }
    }

    const std::string path_;
    const SystemClock wall_;
    std::unique_ptr<client::DaemonClient> client_;
    std::unique_ptr<tests::RunsServer> server_;
    std::unique_ptr<session::Follower> follower_;
    std::vector<values::MetricLine> lines_;
};

TEST_F(FollowTest, ALineArrivesWithItsCommit) {
    const std::string id = submit();
    hello(id);
    follow(id);
    for (std::int64_t step = 1; step <= 5; ++step) {
        train(id, 1, step, step, 1);
        readUntil(static_cast<std::size_t>(step));
        ASSERT_EQ(lines_.size(), static_cast<std::size_t>(step));
    }
}

TEST_F(FollowTest, ALineOfALogArrivesWhenItIsWritten) {
    const std::string id = submit();
    const std::string folder = job::RunPaths(root + "/runs", id).attempt(1).worker("rank0");
    std::filesystem::create_directories(folder);
    session::FollowOptions options;
    options.runIds = {id};
    options.withRuns = false;
    options.withLogs = true;
    follower_ = std::make_unique<session::Follower>(*client_, wall_, options);
    for (const std::string text : {"one", "two", "three"}) {
        std::ofstream(folder + "/out.log", std::ios::app)
            << "2026-03-01T12:00:01.000Z o " << text << std::endl;
        std::string told;
        while (told.empty()) {
            const auto event = follower_->next(std::chrono::seconds(10));
            ASSERT_TRUE(event) << "nothing came of '" << text << "'";
            if (const auto* added = std::get_if<session::LogsAdded>(&*event)) {
                ASSERT_EQ(added->lines.size(), 1U);
                told = added->lines[0].text;
            }
        }
        EXPECT_EQ(told, text);
    }
}

TEST_F(FollowTest, AFollowerWhoseConnectionBreaksGetsEveryLineOnce) {
    const std::string id = submit();
    hello(id);
    follow(id);
    std::vector<std::pair<std::int64_t, double>> truth;
    std::int64_t step = 0;
    for (int round = 0; round < 4; ++round) {
        train(id, 1, step + 1, step + 30, round);
        for (int i = 0; i < 30; ++i) {
            truth.emplace_back(++step, round);
        }
        if (round % 2 == 0) {
            readUntil(truth.size());
        }
        server_.reset();  // data in transit is lost
        train(id, 1, step + 1, step + 7, 0.5);
        for (int i = 0; i < 7; ++i) {
            truth.emplace_back(++step, 0.5);
        }
        serve();
    }
    readUntil(truth.size());
    EXPECT_EQ(told(), truth);
}

TEST_F(FollowTest, WhatARestartMadeVoidWhileTheConnectionWasLostIsDroppedOnce) {
    const std::string id = submit();
    hello(id);
    follow(id);
    train(id, 1, 1, 3, 1);
    checkpoint(id, 4, 3);
    train(id, 1, 5, 6, 1);
    readUntil(5);
    server_.reset();
    leave(id);
    endGang(id, 1, 137);
    hello(id, 2);
    say(id, 1, rank::Metrics{4, 0, 4, 9, {{"loss", 2.0}}}, 2);
    serve();
    readUntil(4);
    const std::vector<std::pair<std::int64_t, double>> truth = {{1, 1}, {2, 1}, {3, 1}, {4, 2}};
    while (told() != truth) {
        const auto event = follower_->next(std::chrono::seconds(10));
        ASSERT_TRUE(event.has_value()) << "nothing more comes";
        take(*event);
    }
    EXPECT_EQ(told(), truth);
}

// Turns of a stream without a call: its source never has anything to write.
class TurnsOfNothing {
 public:
    explicit TurnsOfNothing(Pace pace)
        : writer_(new StreamWriter<v1::RunUpdate>(pump_)),
          turns_(
              writer_,
              [this]() -> Result<Produced<v1::RunUpdate>> {
                  ++numAsked;
                  return Produced<v1::RunUpdate>{};
              },
              pace) {}
    ~TurnsOfNothing() { writer_->OnDone(); }

    void turn(std::chrono::milliseconds at, std::uint64_t news) {
        EXPECT_TRUE(turns_.turn(SteadyTime() + std::chrono::hours(1) + at, false, news));
    }
    bool isDueEver() const { return turns_.due() != SteadyTime::max(); }

    int numAsked = 0;

 private:
    StreamPump pump_;
    StreamWriter<v1::RunUpdate>* writer_;
    WriterTurns<v1::RunUpdate> turns_;
};

TEST(Pace, AStreamOnNewsIsAskedOnceAndThenWhenThereIsNewsOnly) {
    using std::chrono::milliseconds;
    TurnsOfNothing turns({milliseconds(100), true});
    turns.turn(milliseconds(0), 7);
    EXPECT_EQ(turns.numAsked, 1) << "there may be something already";
    EXPECT_FALSE(turns.isDueEver());
    turns.turn(milliseconds(60'000), 7);
    EXPECT_EQ(turns.numAsked, 1);
    turns.turn(milliseconds(60'001), 8);
    EXPECT_EQ(turns.numAsked, 2);
    turns.turn(milliseconds(60'002), 9);
    EXPECT_EQ(turns.numAsked, 2) << "not more often than its interval";
    EXPECT_TRUE(turns.isDueEver()) << "but then";
    turns.turn(milliseconds(60'101), 9);
    EXPECT_EQ(turns.numAsked, 3);
    EXPECT_FALSE(turns.isDueEver());
}

TEST(Pace, AStreamWithoutNewsIsAskedAfterItsInterval) {
    using std::chrono::milliseconds;
    TurnsOfNothing turns({milliseconds(100)});
    turns.turn(milliseconds(0), 0);
    turns.turn(milliseconds(50), 5);
    EXPECT_EQ(turns.numAsked, 1);
    turns.turn(milliseconds(100), 5);
    EXPECT_EQ(turns.numAsked, 2);
}

}  // namespace
}  // namespace millrace::rpc

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/core/mutex.h"
#include "backend/rank/rank_client.h"
#include "backend/rank/rank_server.h"
#include "backend/system/unix_socket.h"
#include "tests/support/temp_dir.h"

namespace millrace::rank {
namespace {

using std::chrono::milliseconds;

/// A daemon with a store that drops what it has seen; it may acknowledge late or never.
class Daemon {
 public:
    explicit Daemon(std::string path, std::size_t ackEvery = 1)
        : path_(std::move(path)), ackEvery_(ackEvery) {}

    void start() {
        RankServerOptions options;
        options.socketPath = path_;
        options.onHello = [this](ConnectionId id, const Sender& sender) {
            MutexLock lock(mutex_);
            connection_ = id;
            sender_ = sender;
            changed_.notifyAll();
            return okStatus();
        };
        options.onLine = [this](ConnectionId id, const Sender&, const RankLine& line) {
            if (const auto* alive = std::get_if<Alive>(&line.body)) {
                MutexLock lock(mutex_);
                alive_.push_back(*alive);
                changed_.notifyAll();
                return true;
            }
            {
                MutexLock lock(mutex_);
                ++heard_;
                if (seen_.emplace(line.attempt, line.seq).second) {
                    stored_.push_back(line);
                }
                changed_.notifyAll();
                if (isFull_) {
                    return false;
                }
                if (ackEvery_ == 0 || heard_ % ackEvery_ != 0) {
                    return true;
                }
            }
            while (server_.load() == nullptr) {
                std::this_thread::yield();  // start() has not returned yet
            }
            server_.load()->ack(id, line.attempt, line.seq);
            return true;
        };
        options.onClosed = [this](ConnectionId, const Sender&, const std::string& why) {
            MutexLock lock(mutex_);
            ++closed_;
            why_ = why;
            changed_.notifyAll();
        };
        auto server = RankServer::start(std::move(options));
        ASSERT_TRUE(server.ok()) << server.status();
        owned_ = *std::move(server);
        server_ = owned_.get();
    }
    void kill() {
        owned_.reset();
        server_ = nullptr;
    }
    RankServer& server() { return *owned_; }
    void ackEvery(std::size_t n) {
        MutexLock lock(mutex_);
        ackEvery_ = n;
    }

    template <class Condition>
    bool waitFor(Condition condition) {
        MutexLock lock(mutex_);
        for (int i = 0; i < 200 && !condition(*this); ++i) {
            changed_.waitFor(mutex_, milliseconds(100));
        }
        return condition(*this);
    }
    bool waitStored(std::size_t n) {
        return waitFor([n](Daemon& d) { return d.stored_.size() >= n; });
    }
    std::vector<RankLine> stored() { return copy(&Daemon::stored_); }
    /// A member as it is now; the server's thread writes it.
    template <class T>
    T copy(T Daemon::* member) {
        MutexLock lock(mutex_);
        return this->*member;
    }

    Mutex mutex_;
    CondVar changed_;
    std::vector<RankLine> stored_;
    std::set<std::pair<std::int64_t, std::uint64_t>> seen_;
    std::vector<Alive> alive_;
    std::size_t heard_ = 0, closed_ = 0;
    std::string why_;
    bool isFull_ = false;
    ConnectionId connection_ = 0;
    Sender sender_;

 private:
    const std::string path_;
    std::size_t ackEvery_;
    std::unique_ptr<RankServer> owned_;
    std::atomic<RankServer*> server_{nullptr};
};

RankClientOptions clientOptions(const tests::TempDir& folder, std::int64_t attempt = 1) {
    RankClientOptions options;
    options.socketPath = folder.path() + "/rank.sock";
    options.directory = folder.path();
    options.sender = {"r-abcde", attempt, "rank", 0, 42};
    options.backoffFirst = milliseconds(1);
    options.backoffMax = milliseconds(5);
    return options;
}

Metrics metrics(std::int64_t step) {
    return Metrics{step, 0, step * 10, 0, {{"loss", 0.5}}};
}

TEST(RankSocket, LinesArriveInOrderAndAreAcknowledged) {
    tests::TempDir folder;
    Daemon daemon(folder.path() + "/rank.sock");
    daemon.start();
    auto client = *RankClient::start(clientOptions(folder));
    for (std::int64_t step = 1; step <= 300; ++step) {
        EXPECT_EQ(*client->send(metrics(step)), static_cast<std::uint64_t>(step));
    }
    ASSERT_TRUE(client->finish(Done{300, 3000, "", {}, {}}, milliseconds(20'000)).ok());
    EXPECT_TRUE(client->unacked()->empty());
    const std::vector<RankLine> stored = daemon.stored();
    ASSERT_EQ(stored.size(), 301U);
    for (std::size_t i = 0; i < 300; ++i) {
        EXPECT_EQ(stored[i].seq, i + 1);
        EXPECT_EQ(std::get<Metrics>(stored[i].body).step, static_cast<std::int64_t>(i + 1));
    }
    EXPECT_EQ(daemon.copy(&Daemon::sender_), (Sender{"r-abcde", 1, "rank", 0, 42, 1'000}));
}

TEST(RankSocket, AKilledDaemonLosesAndDuplicatesNothing) {
    tests::TempDir folder;
    Daemon daemon(folder.path() + "/rank.sock", 7);
    RankClientOptions options = clientOptions(folder);
    options.memoryBytes = 4000;  // so that it spills
    auto client = *RankClient::start(options);
    std::int64_t step = 0;
    for (int life = 0; life < 8; ++life) {
        for (int i = 0; i < 100; ++i) {
            ASSERT_TRUE(client->send(metrics(++step)).ok());
        }
        const std::size_t before = daemon.stored().size();
        daemon.start();
        ASSERT_TRUE(daemon.waitStored(before + 5));
        daemon.kill();
    }
    daemon.ackEvery(1);
    daemon.start();
    ASSERT_TRUE(client->waitAcked(milliseconds(20'000)).ok());
    const std::vector<RankLine> stored = daemon.stored();
    ASSERT_EQ(stored.size(), 800U);
    for (std::size_t i = 0; i < stored.size(); ++i) {
        ASSERT_EQ(stored[i].seq, i + 1) << "in order too";
    }
    EXPECT_GT(daemon.copy(&Daemon::heard_), 800U) << "some came again and were dropped";
}

TEST(RankSocket, TheNextAttemptSendsWhatTheLastOneLeft) {
    tests::TempDir folder;
    Daemon daemon(folder.path() + "/rank.sock", 0);
    daemon.start();
    std::vector<std::string> left;
    {
        auto client = *RankClient::start(clientOptions(folder));
        for (std::int64_t step = 1; step <= 5; ++step) {
            ASSERT_TRUE(client->send(metrics(step)).ok());
        }
        ASSERT_TRUE(daemon.waitStored(5));
        const Status status = client->waitAcked(milliseconds(10));
        EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
        EXPECT_NE(messageOf(status).find("5 lines"), std::string::npos) << status;
        left = *client->unacked();
    }
    ASSERT_EQ(left.size(), 5U);
    daemon.ackEvery(1);
    auto client = *RankClient::start(clientOptions(folder, 2), left);
    EXPECT_EQ(*client->send(metrics(3)), 1U);
    ASSERT_TRUE(client->waitAcked(milliseconds(20'000)).ok());
    const std::vector<RankLine> stored = daemon.stored();
    ASSERT_EQ(stored.size(), 6U) << "the old ones were dropped as seen";
    EXPECT_EQ(stored[4].attempt, 1);
    EXPECT_EQ(stored[5].attempt, 2);
    EXPECT_FALSE(RankClient::start(clientOptions(folder, 3), {"garbage"}).ok());
}

TEST(RankSocket, AStopReachesTheWorker) {
    tests::TempDir folder;
    Daemon daemon(folder.path() + "/rank.sock");
    daemon.start();
    auto client = *RankClient::start(clientOptions(folder));
    ASSERT_TRUE(daemon.waitFor([](Daemon& d) { return d.connection_ != 0; }));
    EXPECT_FALSE(client->stopRequested());
    daemon.server().stop(daemon.copy(&Daemon::connection_), {});
    pollfd item{client->stopFd(), POLLIN, 0};
    ASSERT_EQ(::poll(&item, 1, 20'000), 1);
    EXPECT_TRUE(client->stopRequested());
}

// A rank that has begun a step obliges the other to begin it too; a rank that may not begin another
// step is woken.
TEST(RankSocket, ARankIsWokenByAStopOnlyWhereItMayBeginNoFurtherStep) {
    tests::TempDir folder;
    Daemon daemon(folder.path() + "/rank.sock");
    daemon.start();
    std::vector<std::unique_ptr<RankClient>> ranks;
    for (const int rank : {0, 1}) {
        RankClientOptions options = clientOptions(folder);
        options.page = folder.path() + "/steps.page";
        options.sender.rank = rank;
        ranks.push_back(*RankClient::start(options));
    }
    RankClient& first = *ranks[0];
    RankClient& second = *ranks[1];
    const auto isWoken = [](const RankClient& rank, int ms) {
        pollfd item{rank.stopFd(), POLLIN, 0};
        return ::poll(&item, 1, ms) == 1;
    };
    EXPECT_TRUE(first.begin(7));
    EXPECT_TRUE(second.begin(7));
    EXPECT_TRUE(first.begin(8));
    first.stop();  // by a signal, or by what the daemon says
    second.stop();
    EXPECT_TRUE(isWoken(first, 0));
    EXPECT_FALSE(isWoken(second, 0)) << "step 8 was begun";
    EXPECT_FALSE(second.isOver(8));
    EXPECT_TRUE(second.begin(8));
    EXPECT_TRUE(isWoken(second, 0));
    for (RankClient* rank : {&first, &second}) {
        EXPECT_TRUE(rank->isOver(9));
        EXPECT_FALSE(rank->begin(9));
        ASSERT_TRUE(rank->send(metrics(8)).ok());
        EXPECT_TRUE(rank->waitAcked(milliseconds(20'000)).ok());
        EXPECT_EQ(daemon.stored().back().ended, 8);
    }
    RankClientOptions nowhere = clientOptions(folder);
    nowhere.page = "/nonexistent/steps.page";
    EXPECT_EQ(RankClient::start(nowhere).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(RankSocket, ALineOverTheLimitIsRefusedAtTheWorker) {
    tests::TempDir folder;
    auto client = *RankClient::start(clientOptions(folder));
    EXPECT_FALSE(client->send(ErrorLine{std::string(kMaxLineBytes, 'x')}).ok());
    EXPECT_FALSE(client->send(Hello{}).ok());
    EXPECT_FALSE(client->send(Alive{}).ok());
    EXPECT_EQ(*client->send(ErrorLine{"x"}), 1U) << "no seq was used up";
}

TEST(RankSocket, AWorkerThatHasNothingToSaySaysThatItLives) {
    tests::TempDir folder;
    Daemon daemon(folder.path() + "/rank.sock");
    daemon.start();
    RankClientOptions options = clientOptions(folder);
    options.alivePeriod = milliseconds(2);
    auto client = *RankClient::start(options);
    EXPECT_TRUE(daemon.waitFor([](Daemon& d) { return d.alive_.size() >= 5; }));
    EXPECT_EQ(daemon.copy(&Daemon::sender_).aliveMs, 2);
    EXPECT_TRUE(client->unacked()->empty()) << "nothing of it is kept";
    ASSERT_TRUE(client->send(metrics(1)).ok());
    EXPECT_TRUE(client->waitAcked(milliseconds(20'000)).ok());
    EXPECT_EQ(daemon.stored().size(), 1U);
}

TEST(RankSocket, ATroubleIsToldAtOnceAndToADaemonThatComesLater) {
    tests::TempDir folder;
    Daemon daemon(folder.path() + "/rank.sock");
    daemon.start();
    RankClientOptions options = clientOptions(folder);
    options.alivePeriod = std::chrono::hours(1);  // so that only news are told
    auto client = *RankClient::start(options);
    const auto last = [](const std::string& text) {
        return [text](Daemon& d) { return !d.alive_.empty() && d.alive_.back().trouble == text; };
    };
    EXPECT_TRUE(daemon.waitFor(last("")));
    client->setTrouble("spill", "no room for lines");
    EXPECT_TRUE(daemon.waitFor(last("no room for lines")));
    client->setTrouble("checkpoint", "not written");
    EXPECT_TRUE(daemon.waitFor(last("not written; no room for lines")));
    daemon.kill();
    client->setTrouble("spill", "");
    Daemon next(folder.path() + "/rank.sock");
    next.start();
    EXPECT_TRUE(next.waitFor(last("not written")));
    client->setTrouble("checkpoint", "");
    EXPECT_TRUE(next.waitFor(last("")));
}

TEST(RankServer, GarbageClosesThatConnectionOnly) {
    tests::TempDir folder;
    Daemon daemon(folder.path() + "/rank.sock");
    daemon.start();
    auto client = *RankClient::start(clientOptions(folder));
    ASSERT_TRUE(client->send(metrics(1)).ok());
    ASSERT_TRUE(daemon.waitStored(1));
    const std::string hello = R"({"type":"hello","run":"r","attempt":1,"rank":1})"
                              "\n";
    const std::vector<std::string> garbage = {
        "GET / HTTP/1.1\r\n\r\n",
        std::string(3 << 20, 'x'),
        std::string(100'000, '[') + "\n",
        formatLine({1, -1, metrics(1)}) + "\n",
        hello + hello,
        hello + "{}\n",
        std::string("\0\xff\xfe\n", 4),
    };
    for (const std::string& bytes : garbage) {
        const Result<UniqueFd> socket = connectUnix(folder.path() + "/rank.sock");
        ASSERT_TRUE(socket.ok());
        static_cast<void>(sendWithFds(socket->get(), bytes, {}));
        char c = 0;
        EXPECT_LE(::read(socket->get(), &c, 1), 0) << "closed: " << bytes.substr(0, 20);
    }
    ASSERT_TRUE(client->send(metrics(2)).ok());
    EXPECT_TRUE(client->waitAcked(milliseconds(20'000)).ok()) << "the worker's goes on";
    ASSERT_TRUE(daemon.waitFor([](Daemon& d) { return d.closed_ == 2; }));
    EXPECT_FALSE(daemon.copy(&Daemon::why_).empty());
}

TEST(RankServer, ALineThatItCannotTakeIsDroppedAloneAndAcknowledged) {
    tests::TempDir folder;
    Daemon daemon(folder.path() + "/rank.sock", 0);
    daemon.start();
    const Result<UniqueFd> socket = connectUnix(folder.path() + "/rank.sock");
    ASSERT_TRUE(socket.ok());
    const std::string lines = R"({"type":"hello","run":"r","attempt":1,"rank":1}
{"seq":1,"type":"metrics","step":9223372036854775808}
{"seq":2,"attempt":1,"type":"metrics","step":1,"values":{"a":1e999}}
{"type":"dance","seq":3}
)" + formatLine({4, -1, metrics(5)}) +
                              "\n";
    static_cast<void>(sendWithFds(socket->get(), lines, {}));
    ASSERT_TRUE(daemon.waitStored(4));
    const std::vector<RankLine> stored = daemon.stored();
    const char* const whys[] = {"'step' must be an integer", "", "'dance' is unknown"};
    for (std::uint64_t i = 0; i < 3; ++i) {
        const auto* dropped = std::get_if<Dropped>(&stored[i].body);
        ASSERT_NE(dropped, nullptr) << i;
        EXPECT_EQ(stored[i].seq, i + 1);
        EXPECT_EQ(stored[i].attempt, 1);
        EXPECT_NE(dropped->why.find(whys[i]), std::string::npos) << dropped->why;
    }
    EXPECT_EQ(stored[3], (RankLine{4, 1, metrics(5)}));
    EXPECT_EQ(daemon.copy(&Daemon::closed_), 0u);
}

TEST(RankServer, ARefusedHelloIsTriedAgainLater) {
    tests::TempDir folder;
    std::atomic<int> hellos{0};
    std::atomic<RankServer*> server{nullptr};
    RankServerOptions options;
    options.socketPath = folder.path() + "/rank.sock";
    options.onHello = [&](ConnectionId, const Sender&) {
        return ++hellos < 3 ? unavailable("not yet") : okStatus();
    };
    options.onLine = [&](ConnectionId id, const Sender&, const RankLine& line) {
        while (server.load() == nullptr) {
            std::this_thread::yield();
        }
        server.load()->ack(id, line.attempt, line.seq);
        return true;
    };
    auto owned = *RankServer::start(options);
    server = owned.get();
    auto client = *RankClient::start(clientOptions(folder));
    ASSERT_TRUE(client->send(metrics(1)).ok());
    EXPECT_TRUE(client->waitAcked(milliseconds(20'000)).ok());
    EXPECT_GE(hellos.load(), 3);
}

TEST(RankServer, AConnectionWithoutAHelloIsDroppedInTime) {
    tests::TempDir folder;
    RankServerOptions options;
    options.socketPath = folder.path() + "/rank.sock";
    options.helloLimit = milliseconds(30);
    options.onLine = [](ConnectionId, const Sender&, const RankLine&) { return true; };
    const auto server = *RankServer::start(options);
    const Result<UniqueFd> silent = connectUnix(options.socketPath);
    ASSERT_TRUE(silent.ok());
    const Result<UniqueFd> half = connectUnix(options.socketPath);
    ASSERT_TRUE(half.ok());
    ASSERT_EQ(::write(half->get(), "{\"type\":", 8), 8);
    for (const UniqueFd* socket : {&*silent, &*half}) {
        pollfd item{socket->get(), POLLIN, 0};
        ASSERT_EQ(::poll(&item, 1, 20'000), 1);
        char c = 0;
        EXPECT_EQ(::read(socket->get(), &c, 1), 0) << "closed by the server";
    }
}

TEST(RankServer, SoManyConnectionsAreLetInAndTheNextIsTurnedAway) {
    tests::TempDir folder;
    std::atomic<int> hellos{0};
    RankServerOptions options;
    options.socketPath = folder.path() + "/rank.sock";
    options.maxConnections = 2;
    options.helloLimit = std::chrono::hours(1);
    options.onHello = [&](ConnectionId, const Sender&) {
        ++hellos;
        hellos.notify_all();
        return okStatus();
    };
    options.onLine = [](ConnectionId, const Sender&, const RankLine&) { return true; };
    const auto server = *RankServer::start(options);
    std::vector<UniqueFd> let;
    for (int i = 0; i < 2; ++i) {
        let.push_back(std::move(connectUnix(options.socketPath).value()));
    }
    const UniqueFd tooMany = std::move(connectUnix(options.socketPath).value());
    char c = 0;
    EXPECT_EQ(::read(tooMany.get(), &c, 1), 0) << "closed without an answer";
    let.pop_back();
    // A worker that is turned away comes again.
    const auto client = *RankClient::start(clientOptions(folder));
    ASSERT_TRUE(client->send(metrics(1)).ok());
    hellos.wait(0);
    EXPECT_EQ(hellos, 1);
}

TEST(RankServer, AListenerWithoutRoomDropsTheConnectionAndAllBehindTheLine) {
    tests::TempDir folder;
    Daemon daemon(folder.path() + "/rank.sock", 0);
    {
        MutexLock lock(daemon.mutex_);
        daemon.isFull_ = true;
    }
    daemon.start();
    auto client = *RankClient::start(clientOptions(folder));
    for (std::int64_t step = 1; step <= 50; ++step) {
        ASSERT_TRUE(client->send(metrics(step)).ok());
    }
    ASSERT_TRUE(daemon.waitFor([](Daemon& d) { return d.closed_ >= 2; }));
    EXPECT_NE(daemon.copy(&Daemon::why_).find("no room"), std::string::npos);
    EXPECT_EQ(daemon.stored().size(), 1U) << "only the first line came through, again and again";
    {
        MutexLock lock(daemon.mutex_);
        daemon.isFull_ = false;
    }
    daemon.ackEvery(1);
    EXPECT_TRUE(client->waitAcked(milliseconds(20'000)).ok());
    EXPECT_EQ(daemon.stored().size(), 50U);
}

TEST(RankClient, TheSpillFileHasALimitThatIsTold) {
    tests::TempDir folder;
    RankClientOptions options = clientOptions(folder);
    options.memoryBytes = 1'000;
    options.spillBytes = 4'000;
    auto client = *RankClient::start(options);
    Status full;
    for (std::int64_t step = 1; step <= 1'000 && full.ok(); ++step) {
        full = client->send(metrics(step)).status();
    }
    EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_NE(messageOf(full).find("Start the daemon"), std::string_view::npos) << full;
    EXPECT_LE(std::filesystem::file_size(folder.path() + "/lines.spill"), 4'000U);
}

TEST(RankClient, LinesThatCannotBeReadBackAreAnErrorOfTheCheckpoint) {
    tests::TempDir folder;
    RankClientOptions options = clientOptions(folder);
    options.memoryBytes = 1'000;
    auto client = *RankClient::start(options);
    for (std::int64_t step = 1; step <= 100; ++step) {
        ASSERT_TRUE(client->send(metrics(step)).ok());
    }
    EXPECT_EQ(client->unacked()->size(), 100U);
    std::filesystem::resize_file(folder.path() + "/lines.spill", 100);
    EXPECT_EQ(client->unacked().status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace millrace::rank

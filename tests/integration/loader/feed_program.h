#pragma once
// Fixture: the built feed between a daemon's rank socket and a rank that reads the ring.
#include "backend/core/mutex.h"
#include "backend/feed/feed_reader.h"
#include "backend/rank/rank_server.h"
#include "tests/integration/loader/loader_program.h"
#include "tests/support/poll.h"

namespace millrace {

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
                    metricsStep_ = metrics->step;
                    metricsRows_ = metrics->rows;
                    ++numMetrics_;
                }
                if (const auto* alive = std::get_if<rank::Alive>(&line.body)) {
                    awaits_ = alive->awaits;
                }
                connection_ = connection;
                changed_.notifyAll();
            }
            acknowledging()->ack(connection, line.attempt, line.seq);
            return true;
        };
        options.onClosed = [](rank::ConnectionId, const rank::Sender&, const std::string&) {};
        {
            MutexLock lock(mutex_);
            acknowledging_ = nullptr;
        }
        auto server = rank::RankServer::start(options);
        ASSERT_TRUE(server.ok()) << server.status();
        server_ = std::move(*server);
        MutexLock lock(mutex_);
        acknowledging_ = server_.get();
        changed_.notifyAll();
    }

    // Waits until the server's address is known: its own thread may ask before start() returned.
    rank::RankServer* acknowledging() {
        MutexLock lock(mutex_);
        while (acknowledging_ == nullptr) {
            changed_.wait(mutex_);
        }
        return acknowledging_;
    }

    void startFeed() { startFeed(spec()); }
    /// `limitMb`: if not 0, replaces the spec's memory limit after the check that the limit is
    /// enough.
    void startFeed(const std::string& text, std::int64_t limitMb = 0) {
        writeJob(text, limitMb);
        startWrittenJob();
    }
    void writeJob(const std::string& text, std::int64_t limitMb = 0,
                  const std::string& resume = "") {
        const Json answer = inspect(resolveRequest(text));
        ASSERT_EQ(answer["ok"], true) << dumpJson(answer);
        Json resolved = answer["runs"][0];
        if (limitMb > 0) {
            resolved["spec"]["resources"]["memory_limit_mb"] = limitMb;
        }
        write("job.json", dumpJson({{"version", 1},
                                    {"run", "r-test"},
                                    {"attempt", 1},
                                    {"spec", resolved["spec"]},
                                    {"plan", resolved["plan"]},
                                    {"resume", resume},
                                    {"checkpoint_dir", directory_ / "checkpoints"},
                                    {"rank_socket", directory_ / "rank.sock"},
                                    {"feed_socket", directory_ / "feed.sock"}}));
    }
    void startWrittenJob() {
        SubprocessOptions options;
        options.argv = {loaderProgram(), "feed", "--job", directory_ / "job.json"};
        auto child = Subprocess::start(options);
        ASSERT_TRUE(child.ok()) << child.status();
        feed_ = std::make_unique<Subprocess>(std::move(*child));
    }

    /// Waits until the feed has reported rows, which it does once a second.
    bool works() {
        return test::eventually([this] {
            MutexLock lock(mutex_);
            return metrics_["loader.rows_kept_per_second"] > 0;
        });
    }

    /// Waits until the feed reports that it waits for this rank, whose connection it closed; -1:
    /// for none.
    bool awaits(std::int64_t rank) {
        return test::eventually([&] {
            MutexLock lock(mutex_);
            return awaits_ == rank;
        });
    }

    millrace_feed* connect(const char* stream, const char* state = nullptr, int rank = 0,
                           int worldSize = 1) {
        millrace_feed_options options{};
        options.struct_size = sizeof options;
        options.rank = rank;
        options.world_size = worldSize;
        options.abort_fd = options.numa_node = -1;
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

    // Reads at most `most` batches; returns the last result.
    int read(millrace_feed* feed, std::int64_t most, std::uint64_t& rows, std::uint64_t& next) {
        millrace_feed_event event{};
        event.struct_size = sizeof event;
        int result = MILLRACE_FEED_BATCH;
        while (most-- > 0) {
            do {
                result = millrace_feed_next(feed, 60'000, &event);
            } while (result == MILLRACE_FEED_END_OF_EPOCH || result == MILLRACE_FEED_STEP);
            if (result != MILLRACE_FEED_BATCH) {
                break;
            }
            rows += millrace_batch_rows(event.batch);
            next = event.number + 1;
            millrace_batch_release(event.batch);
        }
        return result;
    }

    // Reads to the end of the step; `next` is then the number of the next micro-batch.
    int readStep(millrace_feed* feed, std::uint64_t& rows, std::uint64_t& next) {
        millrace_feed_event event{};
        event.struct_size = sizeof event;
        int result = 0;
        while ((result = millrace_feed_next(feed, 60'000, &event)) == MILLRACE_FEED_BATCH) {
            rows += millrace_batch_rows(event.batch);
            millrace_batch_release(event.batch);
        }
        next = event.number;
        return result;
    }

    Mutex mutex_;
    CondVar changed_;
    std::int64_t numMetrics_ MR_GUARDED_BY(mutex_) = 0;
    std::int64_t metricsStep_ MR_GUARDED_BY(mutex_) = 0, metricsRows_ MR_GUARDED_BY(mutex_) = 0;
    std::int64_t awaits_ MR_GUARDED_BY(mutex_) = -1;
    std::string error_ MR_GUARDED_BY(mutex_);
    rank::Values metrics_ MR_GUARDED_BY(mutex_);
    rank::ConnectionId connection_ MR_GUARDED_BY(mutex_) = 0;
    rank::RankServer* acknowledging_ MR_GUARDED_BY(mutex_) = nullptr;
    std::unique_ptr<rank::RankServer> server_;
    std::unique_ptr<Subprocess> feed_;
};

}  // namespace millrace

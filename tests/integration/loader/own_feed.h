#pragma once
// A feed without a daemon, as the process that starts it sees it: a fixture for tests of the role
// feed.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/feed/feed_reader.h"
#include "backend/filesystem/files.h"
#include "backend/stream/read_state.h"
#include "tests/integration/loader/loader_program.h"

namespace millrace {

struct FeedCloser {
    void operator()(millrace_feed* feed) const { millrace_feed_close(feed); }
};
using FeedPtr = std::unique_ptr<millrace_feed, FeedCloser>;

/// A rank's position in its stream.
struct Place {
    int rank = 0, worldSize = 1;
    std::int64_t attempt = 0;
    const char* stream = "train";
    bool join = false, drops = false;
};

class OwnFeed : public LoaderProgram {
 protected:
    void SetUp() override {
        LoaderProgram::SetUp();
        ASSERT_EQ(::mkdir(socketDirectory().c_str(), 0700), 0);
        ASSERT_EQ(::pipe2(life_, O_CLOEXEC), 0);
    }
    void TearDown() override {
        for (int& fd : life_) {
            closeLine(fd);
        }
    }

    std::string socketDirectory() const { return directory_ / "own"; }
    std::string socket() const { return socketDirectory() + "/feed.sock"; }
    static void closeLine(int& fd) {
        if (fd >= 0) {
            ::close(std::exchange(fd, -1));
        }
    }

    std::vector<std::string> feedArguments(std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments = {loaderProgram(),          "feed",     "--spec",
                                              directory_ / "spec.yaml", "--socket", socket()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    Subprocess start(std::vector<std::string> argv) const {
        SubprocessOptions options;
        options.argv = std::move(argv);
        options.environment = {"XDG_CACHE_HOME=" + directory_.path() + "/cache",
                               "MILLRACE_LOG=debug"};
        options.stderrFd =
            ::open((directory_ / "err").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (life_[0] >= 0) {
            options.passFds = {{life_[0], 8}, {life_[0], 9}};
        }
        auto child = Subprocess::start(options);
        ::close(options.stderrFd);
        EXPECT_TRUE(child.ok()) << child.status();
        return std::move(*child);
    }
    std::string said() const { return readFile(directory_ / "err").value_or(""); }

    FeedPtr connect(const Place& place = {}, const std::string& state = "",
                    std::string* refused = nullptr) const {
        return connectTo(socket(), place, state, refused);
    }
    static FeedPtr connectTo(const std::string& socket, const Place& place,
                             const std::string& state = "", std::string* refused = nullptr) {
        millrace_feed_options options{};
        options.struct_size = sizeof options;
        options.rank = place.rank;
        options.world_size = place.worldSize;
        options.abort_fd = options.numa_node = -1;
        options.attempt = place.attempt;
        options.stream = place.stream;
        options.join = place.join ? 1 : 0;
        options.last = place.drops ? MILLRACE_LAST_DROP : MILLRACE_LAST_KEEP;
        options.state = state.empty() ? nullptr : state.c_str();
        millrace_feed* feed = nullptr;
        char error[512] = "";
        const int result = millrace_feed_open(socket.c_str(), &options, &feed, error, sizeof error);
        if (refused != nullptr) {
            *refused = error;
        } else {
            EXPECT_EQ(result, 0) << error;
        }
        return FeedPtr(feed);
    }

    static int nextOf(millrace_feed* feed, millrace_feed_event& event) {
        constexpr std::int64_t kReopenMs = 10'000;
        int result = millrace_feed_next(feed, 60'000, &event);
        while (result == MILLRACE_FEED_LOST && millrace_feed_reopen(feed, kReopenMs) >= 0) {
            result = millrace_feed_next(feed, 60'000, &event);
        }
        return result;
    }

    struct Seen {
        int result = 0;
        std::uint64_t rows = 0, batches = 0;
        std::string state;  ///< state at the end of the last step
    };
    /// Reads to the end of step `steps` (-1: of the stream); connects again if the feed closes the
    /// connection.
    static Seen read(millrace_feed* feed, std::int64_t steps = -1) {
        Seen seen;
        millrace_feed_event event{};
        event.struct_size = sizeof event;
        while (steps != 0 && (seen.result = nextOf(feed, event)) >= 0 &&
               seen.result != MILLRACE_FEED_END_OF_STREAM && seen.result != MILLRACE_FEED_TIMEOUT) {
            if (seen.result == MILLRACE_FEED_BATCH) {
                seen.rows += millrace_batch_rows(event.batch);
                ++seen.batches;
                millrace_batch_release(event.batch);
            } else if (seen.result == MILLRACE_FEED_STEP) {
                --steps;
                char* text = millrace_feed_state(feed, event.epoch, event.number);
                EXPECT_NE(text, nullptr) << millrace_feed_error(feed);
                seen.state = text == nullptr ? "" : text;
                millrace_free(text);
            }
        }
        return seen;
    }
    static std::string orderHash(const std::string& state) {
        const auto read = stream::readState(state);
        EXPECT_TRUE(read.ok()) << read.status();
        return read.ok() ? read->orderHash.hex() : "";
    }
    std::string streamedHash(std::vector<std::string> more = {}) const {
        return report(std::move(more))["order_hash"].get<std::string>();
    }

    /// Processes that have the socket's name on their command line.
    bool isServed() const {
        std::error_code ignored;
        for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
            const auto line = readFile(entry.path().string() + "/cmdline");
            if (line.ok() && line->find(socket()) != std::string::npos) {
                return true;
            }
        }
        return false;
    }

    int life_[2] = {-1, -1};
};

}  // namespace millrace

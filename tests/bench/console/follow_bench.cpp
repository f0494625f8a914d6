// follow_bench [FOLLOWERS SECONDS]: measures what the followers of a run cost the head.
//
// A head in this process (store, controller, gRPC on a unix socket) takes 10 steps/s of 20 metrics;
// the followers run in another process. Measures the head's CPU time without followers, with
// followers of this run, and with followers of a run that takes no steps. Exits with 1 if lines are
// missing, if followers of the moving run cost 2 % of a core or more, or those of the idle run
// 0.2 % or more.
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

#include "app/client/grpc_client.h"
#include "app/session/follower.h"
#include "tests/bench/console/bench_clock.h"
#include "tests/support/poll.h"
#include "tests/support/runs_server.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::bench {
namespace {

constexpr int kStepsPerSecond = 10, kMetrics = 20;
constexpr double kMostMoving = 2, kMostStill = 0.2;  // in percent of a core

// The process of the followers. It ends when each has read `lines` lines, or when its parent has
// closed the pipe.
int followMain(const std::string& socket, const std::string& run, int count, std::size_t lines) {
    client::GrpcClientOptions options;
    options.address.unixPath = socket;
    const SystemClock clock;
    session::FollowOptions what;
    what.runIds = {run};
    what.withMetrics = true;
    struct One {
        std::unique_ptr<client::DaemonClient> client;
        std::unique_ptr<session::Follower> follower;
        std::size_t seen = 0;
    };
    std::vector<One> all(static_cast<std::size_t>(count));
    for (One& one : all) {
        one.client = client::makeGrpcClient(options);
        one.follower = std::make_unique<session::Follower>(*one.client, clock, what);
    }
    for (One& one : all) {
        while (one.seen < lines) {
            const auto event = one.follower->next(std::chrono::seconds(20));
            if (!event) {
                std::fprintf(stderr, "a follower has %zu lines of %zu\n", one.seen, lines);
                return 1;
            }
            if (const auto* added = std::get_if<session::MetricsAdded>(&*event)) {
                one.seen += added->lines.size();
            }
        }
    }
    char byte = 0;
    (void)!::read(STDIN_FILENO, &byte, 1);  // until the parent is done
    return 0;
}

class Head : public agent::AgentTest {
 public:
    Head() : path(root + "/d.sock") {
        server_ = std::make_unique<tests::RunsServer>(*service, path);
        run = submit();
        hello(run);
    }
    ~Head() override { server_.reset(); }
    void TestBody() override {}

    /// Takes steps at their pace. Returns the percentage of a core that this process used.
    double move(double duration) {
        const double start = seconds(), cpu = cpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; seconds() - start < duration; ++i) {
            rank::Metrics metrics{++step_, 0, step_ * 1024, step_, {}};
            for (int m = 0; m < kMetrics; ++m) {
                metrics.values[m == 0 ? "loss" : strCat("metric", m)] = 1.0 / double(step_ + m);
            }
            say(run, static_cast<std::uint64_t>(step_), std::move(metrics));
            rest(start + double(i + 1) / kStepsPerSecond - seconds());
        }
        return 100 * (cpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (seconds() - start);
    }
    double standStill(double duration) const {
        const double cpu = cpuSeconds(CLOCK_PROCESS_CPUTIME_ID), start = seconds();
        rest(duration);
        return 100 * (cpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (seconds() - start);
    }
    std::size_t numSteps() const { return static_cast<std::size_t>(step_); }

    const std::string path;
    std::string run;

 private:
    static void rest(double duration) {
        if (duration > 0) {
            millrace::test::pausePolling(
                std::chrono::milliseconds(static_cast<int>(duration * 1000)));
        }
    }
    std::unique_ptr<tests::RunsServer> server_;
    std::int64_t step_ = 0;
};

struct Child {
    pid_t pid = 0;
    int end = -1;  // closing it lets the child exit
};

// Starts through exec, because a process that has used gRPC cannot be forked.
Child startFollowers(const char* self, const Head& head, int count, std::size_t lines) {
    int ends[2];
    require(::pipe(ends) == 0, "pipe");
    const std::string number = std::to_string(count), wanted = std::to_string(lines);
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::dup2(ends[0], STDIN_FILENO);
        ::close(ends[1]);
        ::execl(self, self, "--follow", head.path.c_str(), head.run.c_str(), number.c_str(),
                wanted.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(ends[0]);
    return {pid, ends[1]};
}

int benchMain(const char* self, int count, double duration) {
    Head head;
    (void)head.move(1);
    const double alone = head.move(duration);
    row("the head alone, 10 steps/s of 20 metrics", alone, "% of a core");
    const std::size_t lines = head.numSteps() + static_cast<std::size_t>(2 * kStepsPerSecond);
    const Child child = startFollowers(self, head, count, lines);
    (void)head.move(3);  // they have connected and read the lines that existed
    const double followed = head.move(duration);
    row("with followers", followed, "% of a core");
    row("the followers' share", followed - alone, "% of a core");
    const double still = head.standStill(duration);
    row("followers of a run that stands still", still, "% of a core");
    ::close(child.end);
    int state = 0;
    ::waitpid(child.pid, &state, 0);
    require(WIFEXITED(state) && WEXITSTATUS(state) == 0, "a follower has not all lines");
    require(followed - alone < kMostMoving, "followers take 2 % of a core or more");
    require(still < kMostStill, "followers of what stands still take 0.2 % of a core or more");
    return 0;
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
    if (argc == 6 && std::string(argv[1]) == "--follow") {
        return millrace::bench::followMain(argv[2], argv[3], std::atoi(argv[4]),
                                           static_cast<std::size_t>(std::atoll(argv[5])));
    }
    return millrace::bench::benchMain("/proc/self/exe", argc > 1 ? std::atoi(argv[1]) : 10,
                                      argc > 2 ? std::atof(argv[2]) : 20);
}

// ssh_bench head SOCKET SECONDS: a head (store, controller, gRPC) on a unix socket. Its run reports
// 50,000 metric points and 20,000 log lines a second.
// ssh_bench client SOCKET ADDRESS RUN SECONDS: measures what a client gets from it in one run,
// through the socket and through the ssh:// address. Prints rows as JSON lines.
//
// tests/bench/ssh/run starts both, with an sshd between them.
#include <fstream>
#include <iostream>

#include <sys/resource.h>

#include "app/session/daemon_door.h"
#include "app/session/follower.h"
#include "backend/filesystem/paths.h"
#include "backend/job/attempt_paths.h"
#include "backend/text/json.h"
#include "tests/bench/console/bench_clock.h"
#include "tests/support/poll.h"
#include "tests/support/runs_server.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::bench {
namespace {

constexpr int kPointsPerSecond = 50'000, kLinesPerSecond = 20'000, kMetrics = 50, kTicks = 50;
constexpr int kCalls = 300, kConnects = 5;

class Head : public agent::AgentTest {
 public:
    explicit Head(const std::string& path) {
        server_ = std::make_unique<tests::RunsServer>(*service, path);
        run = submit();
        hello(run);
        const std::string folder =
            job::RunPaths(root + "/runs", run).attempt(1).worker(job::rankName(0));
        std::filesystem::create_directories(folder);
        log_.open(folder + "/out.log", std::ios::app);
        require(log_.is_open(), "the log cannot be written");
    }
    ~Head() override { server_.reset(); }
    void TestBody() override {}

    void tell(double duration) {
        const double start = seconds();
        for (int i = 0; seconds() - start < duration; ++i) {
            for (int m = 0; m < kPointsPerSecond / kMetrics / kTicks; ++m) {
                tellStep();
            }
            for (int l = 0; l < kLinesPerSecond / kTicks; ++l) {
                log_ << "2026-01-01T00:00:00.000Z o step " << step_ << " line " << l
                     << ": what a training script prints while it works\n";
            }
            log_.flush();
            const double left = start + double(i + 1) / kTicks - seconds();
            if (left > 0) {
                test::pausePolling(std::chrono::milliseconds(static_cast<int>(left * 1000)));
            }
        }
    }
    std::string run;

 private:
    void tellStep() {
        rank::Metrics metrics{++step_, 0, step_ * 1024, step_, {}};
        for (int m = 0; m < kMetrics; ++m) {
            metrics.values[m == 0 ? "loss" : strCat("metric", m)] = 1.0 / double(step_ + m);
        }
        say(run, static_cast<std::uint64_t>(step_), std::move(metrics));
    }
    std::unique_ptr<tests::RunsServer> server_;
    std::ofstream log_;
    std::int64_t step_ = 0;
};

int headMain(const std::string& path, double duration) {
    Head head(path);
    std::cout << head.run << std::endl;
    head.tell(duration);
    return 0;
}

void rowOf(const char* what, double value, const char* unit) {
    std::cout << dumpJson({{"what", what}, {"value", value}, {"unit", unit}}) << std::endl;
}

double cpuOf(int who) {
    rusage use{};
    ::getrusage(who, &use);
    const auto in = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) * 1e-6; };
    return in(use.ru_utime) + in(use.ru_stime);
}

ssh::Settings settings() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value == nullptr ? "" : value);
    };
    ssh::Settings settings;
    settings.transport = must(ssh::parseTransport(variable("MILLRACE_SSH_TRANSPORT")));
    settings.programDirectory = variable("MILLRACE_BIN_DIR");
    settings.searchPath = variable("PATH");
    settings.configFile = variable("MILLRACE_SSH_CONFIG");
    return settings;
}

std::unique_ptr<client::DaemonClient> open(const std::string& address, ssh::Hosts& hosts) {
    return session::openClient(must(Address::parse(address)), "bench", {}, hosts);
}

double listMs(client::DaemonClient& daemon) {
    values::ListRequest request;
    request.pageSize = 1;
    const double begin = seconds();
    must(daemon.list(request));
    return (seconds() - begin) * 1e3;
}

double medianOf(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void benchCalls(const std::string& socket, const std::string& address) {
    ssh::Hosts hosts(settings());
    const auto direct = open(socket, hosts), through = open(address, hosts);
    (void)listMs(*direct);
    (void)listMs(*through);
    std::vector<double> directly, byWay, more;
    for (int i = 0; i < kCalls; ++i) {
        directly.push_back(listMs(*direct));
        byWay.push_back(listMs(*through));
        more.push_back(byWay.back() - directly.back());
    }
    rowOf("a call over the unix socket", medianOf(directly), "ms");
    rowOf("a call through ssh", medianOf(byWay), "ms");
    rowOf("what ssh adds to a call", medianOf(more), "ms");
}

void benchConnect(const std::string& address) {
    std::vector<double> took;
    for (int i = 0; i < kConnects; ++i) {
        ssh::Hosts hosts(settings());
        const double begin = seconds();
        const auto daemon = open(address, hosts);
        (void)listMs(*daemon);
        took.push_back(seconds() - begin);
    }
    rowOf("from nothing to the first list", medianOf(took), "s");
}

// Points and lines a second, and the processor time of this process and its ssh.
void benchFollow(const std::string& address, const std::string& run, double duration,
                 const std::string& name) {
    const double children = cpuOf(RUSAGE_CHILDREN), own = cpuOf(RUSAGE_SELF);
    double points = 0, lines = 0, span = 0;
    {
        ssh::Hosts hosts(settings());
        const auto daemon = open(address, hosts);
        (void)listMs(*daemon);
        session::FollowOptions what;
        what.runIds = {run};
        what.withMetrics = what.withLogs = true;
        const SystemClock clock;
        session::Follower follower(*daemon, clock, what);
        const double begin = seconds();
        while (seconds() - begin < duration) {
            const auto event = follower.next(std::chrono::milliseconds(200));
            if (!event) {
                continue;
            }
            if (const auto* added = std::get_if<session::MetricsAdded>(&*event)) {
                for (const values::MetricLine& line : added->lines) {
                    points += static_cast<double>(line.values.size());
                }
            } else if (const auto* logged = std::get_if<session::LogsAdded>(&*event)) {
                lines += static_cast<double>(logged->lines.size());
            }
        }
        span = seconds() - begin;
    }
    const double used = cpuOf(RUSAGE_SELF) - own, ssh = cpuOf(RUSAGE_CHILDREN) - children;
    rowOf((name + ": metric points").c_str(), points / span, "a second");
    rowOf((name + ": log lines").c_str(), lines / span, "a second");
    rowOf((name + ": this process").c_str(), 100 * used / span, "% of a core");
    rowOf((name + ": ssh").c_str(), 100 * ssh / span, "% of a core");
}

int clientMain(const std::string& socket, const std::string& address, const std::string& run,
               double duration) {
    benchConnect(address);
    benchCalls(socket, address);
    benchFollow(socket, run, duration, "unix socket");
    benchFollow(address, run, duration, "through ssh");
    return 0;
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
    using namespace millrace::bench;
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "head" && argc == 4) {
        return headMain(argv[2], std::atof(argv[3]));
    }
    if (mode == "client" && argc == 6) {
        return clientMain(argv[2], argv[3], argv[4], std::atof(argv[5]));
    }
    std::cerr << "tests/bench/ssh/run starts this\n";
    return 2;
}

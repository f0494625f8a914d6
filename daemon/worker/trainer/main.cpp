// millrace-trainer: one rank. Reads the ring, trains, writes checkpoints, reports on the rank
// socket.
//
//   millrace-trainer --job job.json --rank N
//
// SIGTERM or a stop from the daemon: a checkpoint of the last whole step, then exit 3.
// Exit codes: backend/core/exit_codes.h.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <unistd.h>

#include "backend/core/exit_codes.h"
#include "backend/core/log.h"
#include "backend/core/standard_output.h"
#include "backend/job/attempt_paths.h"
#include "backend/train/torch_learner.h"
#include "daemon/worker/trainer/job.h"

namespace millrace::trainer {
namespace {

constexpr std::chrono::seconds kErrorLease{30};

// The client that a signal asks to stop; null before it exists: a flag then records the signal.
std::atomic<rank::RankClient*> gClient{nullptr};
std::atomic<bool> gStopped{false};

void requestStop(int) {
    gStopped = true;
    if (rank::RankClient* client = gClient.load()) {
        client->stop();
    }
}

/// OpenMP and MKL read these at their first use, and OMP_DYNAMIC and OMP_WAIT_POLICY when their
/// library is loaded, so another value needs a restart of this program.
///
/// Threads that wait for each other must sleep. By default they spin, and on a busy machine they
/// spend the time slices that the others need (two threads on a busy machine: 47 s for 60 steps of
/// the MovieLens example; asleep 3.4 s, one thread 4.1 s). A policy that was set on purpose stays.
void fixEnvironment(char** argv) {
    const char* dynamic = std::getenv("OMP_DYNAMIC");
    const bool hasPolicy = std::getenv("OMP_WAIT_POLICY") != nullptr;
    ::setenv("OMP_DYNAMIC", "FALSE", 1);
    ::setenv("MKL_DYNAMIC", "FALSE", 1);
    ::setenv("MKL_CBWR", __builtin_cpu_supports("avx2") ? "AVX2" : "COMPATIBLE", 1);
    ::setenv("OMP_WAIT_POLICY", "PASSIVE", 0);
    if (!hasPolicy || (dynamic && std::strcmp(dynamic, "FALSE") != 0)) {
        ::execv("/proc/self/exe", argv);
    }
}

void installSignals() {
    struct sigaction action{};
    action.sa_handler = requestStop;
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGINT, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

/// Floats per row of the `vectors` features: from the checkpoint that is resumed, else from the
/// first frame of this rank.
Result<std::int64_t> vectorsWidth(const TrainerJob& job, int rank, int stopFd,
                                  const train::Checkpoint* checkpoint) {
    if (job.spec.features.vectors.empty() || !job.spec.model.hasTables()) {
        return 0;
    }
    const auto dense = static_cast<std::int64_t>(job.spec.features.dense.size());
    const train::TensorRef* means = checkpoint ? checkpoint->find("input.mean") : nullptr;
    if (means) {
        return means->numElements() - dense;
    }
    train::FeedSourceOptions options;
    options.socketPath = job.feedSocket;
    options.attempt = job.attempt;
    options.rank = rank;
    options.worldSize = static_cast<int>(job.spec.train.ranks);
    options.abortFd = stopFd;
    options.vectors = job.spec.features.vectors;
    options.isGlance = true;
    ASSIGN_OR_RETURN(const auto source, train::FeedSource::open(options));
    while (true) {
        ASSIGN_OR_RETURN(const train::FeedEvent event, source->next());
        if (event.kind != train::FeedEvent::Kind::kWaiting) {
            return event.batch.denseWidth();
        }
    }
}

struct Checkpoints {
    std::optional<train::Checkpoint> resume, initFrom;
    std::vector<std::string> unacked;
};

/// Rank 0 sends the lines in the checkpoint again.
Result<Checkpoints> openCheckpoints(const TrainerJob& job, int rank) {
    Checkpoints out;
    if (!job.resume.empty()) {
        ASSIGN_OR_RETURN(train::Checkpoint file, train::Checkpoint::open(job.resume));
        for (const Json& line : jsonMember(file.meta(), "unacked")) {
            if (line.is_string() && rank == 0) {
                out.unacked.push_back(line.get<std::string>());
            }
        }
        out.resume.emplace(std::move(file));
    } else if (!job.initFrom.empty()) {
        ASSIGN_OR_RETURN(train::Checkpoint file, train::Checkpoint::open(job.initFrom));
        out.initFrom.emplace(std::move(file));
    }
    return out;
}

job::AttemptPaths attemptOf(const TrainerJob& job) {
    return job::AttemptPaths(job.directory.substr(0, job.directory.rfind('/')));
}

Result<train::Trainer::Outcome> trainJob(const TrainerJob& job, int rank,
                                         const Checkpoints& checkpoints, rank::RankClient& client) {
    const train::Checkpoint* resume = checkpoints.resume ? &*checkpoints.resume : nullptr;
    ASSIGN_OR_RETURN(const std::int64_t width, vectorsWidth(job, rank, client.stopFd(), resume));
    ASSIGN_OR_RETURN(train::TrainerOptions options, trainerOptions(job, rank, width));
    std::optional<train::InitFrom> initFrom;
    if (checkpoints.initFrom) {
        initFrom = initFromOf(job, options, *checkpoints.initFrom);
    }
    options.fileName = [&job](std::uint32_t file) { return fileNameOf(job, file); };
    const auto open = [&](const char* stream, const std::string& state) {
        train::FeedSourceOptions feed = feedOptions(job, rank, options, stream);
        feed.state = state;
        feed.abortFd = client.stopFd();
        return train::FeedSource::open(feed);
    };
    train::SocketGroupOptions rendezvous;
    rendezvous.path = attemptOf(job).groupSocket();
    rendezvous.rank = rank;
    rendezvous.size = static_cast<int>(job.spec.train.ranks);
    rendezvous.abortFd = client.stopFd();
    ASSIGN_OR_RETURN(const std::unique_ptr<train::Group> group, train::makeSocketGroup(rendezvous));
    train::RankReporter reporter(client);
    const SystemClock clock;
    ASSIGN_OR_RETURN(const std::unique_ptr<train::Trainer> trainer,
                     train::Trainer::make(options, resume, initFrom ? &*initFrom : nullptr, open,
                                          *group, reporter, clock));
    logDebug("trainer: started", {{"run", job.run},
                                  {"attempt", job.attempt},
                                  {"rank", rank},
                                  {"model", options.learner.model},
                                  {"step", trainer->step()},
                                  {"torch", train::torchVersion()}});
    return trainer->run();
}

Result<train::Trainer::Outcome> runJob(const TrainerJob& job, int rank,
                                       std::unique_ptr<rank::RankClient>& client) {
    Result<Checkpoints> checkpoints = openCheckpoints(job, rank);
    rank::RankClientOptions options;
    options.socketPath = job.rankSocket;
    options.directory = job.directory;
    options.sender = {job.run, job.attempt, "rank", rank, ::getpid()};
    options.page = attemptOf(job).stepPage();
    ASSIGN_OR_RETURN(
        client,
        rank::RankClient::start(std::move(options), checkpoints.ok() ? checkpoints->unacked
                                                                     : std::vector<std::string>{}));
    RETURN_IF_ERROR(checkpoints.status());
    gClient = client.get();
    if (gStopped) {
        client->stop();  // it arrived before the client existed
    }
    if (rank == 0) {
        rank::ReceiptLine versions;
        versions.receipt["packages"]["torch"] = train::torchVersion();
        RETURN_IF_ERROR(client->send(std::move(versions)).status());
    }
    return trainJob(job, rank, *checkpoints, *client);
}

/// Reports the error on the rank socket, so that the run shows it.
int fail(const Status& status, rank::RankClient* client) {
    logError("trainer: failed", {{"error", messageOf(status)}});
    if (client) {
        const Status sent =
            client->finish(rank::ErrorLine{std::string(messageOf(status))}, kErrorLease);
        if (!sent.ok()) {
            logWarn("trainer: the daemon did not take the error", {{"error", messageOf(sent)}});
        }
    }
    return workerExitOf(status);
}

int run(const std::string& jobPath, int rank) {
    Result<TrainerJob> job = TrainerJob::read(jobPath, rank);
    if (!job.ok()) {
        return fail(job.status(), nullptr);
    }
    std::unique_ptr<rank::RankClient> client;
    const Result<train::Trainer::Outcome> outcome = runJob(*job, rank, client);
    if (!outcome.ok()) {
        return fail(outcome.status(), client.get());
    }
    if (*outcome == train::Trainer::Outcome::kDone) {
        return kExitDone;
    }
    // Lines that are not acknowledged are in the checkpoint; the next attempt sends them.
    const Status acked = client->waitAcked(std::chrono::seconds(5));
    logInfo("trainer: stopped with a checkpoint", {{"acknowledged", acked.ok() ? "yes" : "no"}});
    return kExitStopped;
}

}  // namespace
}  // namespace millrace::trainer

int main(int argc, char** argv) {
    millrace::trainer::fixEnvironment(argv);
    std::string job;
    int rank = -1;
    for (int i = 1; i < argc; ++i) {
        const std::string_view arg = argv[i];
        if (arg == "--version") {
            return millrace::endWithText(
                "millrace-trainer",
                millrace::strCat("millrace-trainer " MILLRACE_VERSION ", LibTorch ",
                                 millrace::train::torchVersion(), "\n"));
        }
        if (arg == "--job" && i + 1 < argc) {
            job = argv[++i];
        } else if (arg == "--rank" && i + 1 < argc) {
            rank = std::atoi(argv[++i]);
        } else {
            job.clear();
            break;
        }
    }
    if (job.empty() || rank < 0) {
        std::fprintf(stderr, "usage: millrace-trainer --job job.json --rank N\n");
        return millrace::kExitUsage;
    }
    millrace::trainer::installSignals();
    return millrace::endInWords("millrace-trainer",
                                [&] { return millrace::trainer::run(job, rank); });
}

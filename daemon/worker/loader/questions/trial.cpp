#include "daemon/worker/loader/questions/trial.h"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "backend/core/mutex.h"
#include "backend/core/unique_fd.h"
#include "backend/filesystem/files.h"
#include "backend/filesystem/paths.h"
#include "backend/filesystem/scratch_directory.h"
#include "backend/job/attempt_paths.h"
#include "backend/job/job_file.h"
#include "backend/rank/rank_server.h"
#include "backend/system/subprocess.h"
#include "backend/values/metric_names.h"

namespace millrace::loader {
namespace {

constexpr std::chrono::milliseconds kLook{50};
constexpr const char* kRun = "r-trial";
constexpr const char* kTrainer = "millrace-trainer";

// Receives the two workers' reports, instead of a daemon.
class Workers {
 public:
    explicit Workers(TrialProgress& progress) : progress_(progress) {}

    Status listen(const std::string& socketPath) {
        rank::RankServerOptions options;
        options.socketPath = socketPath;
        options.onLine = [this](rank::ConnectionId connection, const rank::Sender& sender,
                                const rank::RankLine& line) {
            take(sender, line);
            if (line.seq > 0) {
                acknowledge(connection, line);
            }
            return true;
        };
        ASSIGN_OR_RETURN(auto server, rank::RankServer::start(std::move(options)));
        MutexLock lock(mutex_);
        server_ = std::move(server);
        return okStatus();
    }

    /// Returns true if there is nothing more to wait for; waits a moment for it.
    bool isOver() {
        MutexLock lock(mutex_);
        if (!isOver_) {
            changed_.waitFor(mutex_, kLook);
        }
        return isOver_;
    }
    Trial trial() const {
        MutexLock lock(mutex_);
        return trial_;
    }
    /// The first error that a worker reported.
    std::string error() const {
        MutexLock lock(mutex_);
        return error_;
    }

 private:
    // The server exists before the first worker starts.
    void acknowledge(rank::ConnectionId connection, const rank::RankLine& line) {
        rank::RankServer* server = nullptr;
        {
            MutexLock lock(mutex_);
            server = server_.get();
        }
        if (server != nullptr) {
            server->ack(connection, line.attempt, line.seq);
        }
    }

    void take(const rank::Sender& sender, const rank::RankLine& line) {
        MutexLock lock(mutex_);
        if (const auto* error = std::get_if<rank::ErrorLine>(&line.body)) {
            error_ = error_.empty() ? error->message : error_;
            isOver_ = true;
        } else if (sender.role == "rank") {
            takeWork(line);
        }
        changed_.notifyAll();
    }

    void takeWork(const rank::RankLine& line) MR_REQUIRES(mutex_) {
        if (const auto* progress = std::get_if<rank::Progress>(&line.body)) {
            progress_.isEvaluating = progress->phase == "evaluating";
        } else if (const auto* metrics = std::get_if<rank::Metrics>(&line.body)) {
            takeMetrics(*metrics);
        } else if (std::holds_alternative<rank::Done>(line.body)) {
            isOver_ = true;
        }
    }

    void takeMetrics(const rank::Metrics& metrics) MR_REQUIRES(mutex_) {
        const auto loss = metrics.values.find(values::metric::kLoss);
        if (loss != metrics.values.end() && metrics.step > trial_.steps) {
            trial_.firstLoss = trial_.steps == 0 ? loss->second : trial_.firstLoss;
            trial_.lastLoss = loss->second;
            trial_.steps = metrics.step;
            trial_.rows = metrics.rows;
            progress_.step = metrics.step;
        }
        for (const auto& [name, value] : metrics.values) {
            if (name.starts_with(values::metric::kEvalPrefix)) {
                trial_.evaluation[name] = value;
                trial_.isEvaluated = true;
            }
        }
        isOver_ = isOver_ || trial_.isEvaluated;
    }

    TrialProgress& progress_;
    mutable Mutex mutex_;
    CondVar changed_;
    Trial trial_ MR_GUARDED_BY(mutex_);
    std::string error_ MR_GUARDED_BY(mutex_);
    bool isOver_ MR_GUARDED_BY(mutex_) = false;
    /// The last member: its thread uses the ones above.
    std::unique_ptr<rank::RankServer> server_;
};

Result<std::string> writeJob(const ResolvedRun& run, std::int64_t steps, const std::string& dir) {
    spec::RunSpec spec = run.spec;
    spec.train.maxSteps = steps;
    spec.train.checkpointEverySteps = 0;
    const job::AttemptPaths paths(dir);
    job::JobFile job;
    job.run = kRun;
    job.spec = std::move(spec);
    job.specHash = run.specHash;
    job.streamHash = run.streamHash;
    job.planText = run.plan.toJsonText();
    job.checkpointDirectory = dir + "/checkpoints";
    job.rankSocket = paths.rankSocket();
    job.feedSocket = paths.feedSocket();
    RETURN_IF_ERROR(makeDirectories(job.checkpointDirectory, 0700));
    RETURN_IF_ERROR(job.write(paths.jobFile()));
    return paths.jobFile();
}

struct Child {
    std::string program, log;
    std::optional<Subprocess> process;

    Status start(const std::vector<std::string>& arguments, const std::string& dir) {
        log = strCat(dir, "/", program, ".log");
        const UniqueFd file(::open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
        if (file.get() < 0) {
            return errnoStatus(errno, log);
        }
        SubprocessOptions options;
        options.argv = {strCat(programDirectory(), "/", program)};
        options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
        options.stdoutFd = options.stderrFd = file.get();
        options.dieWithParent = true;
        ASSIGN_OR_RETURN(process, Subprocess::start(options));
        return okStatus();
    }

    /// How it ended without a report; empty: it runs.
    std::string silentEnd() {
        int code = 0;
        const auto hasEnded = process->poll(code);
        if (!hasEnded.ok() || !*hasEnded) {
            return "";
        }
        const auto text = readFile(log, std::size_t{1} << 20);
        const std::string last = text.ok() ? text->substr(0, text->find('\n')) : std::string();
        return strCat(program, " ended with ", code, last.empty() ? "" : ": ", last);
    }
};

Status waitFor(Workers& workers, Child& feed, Child& trainer, const TrialOptions& options,
               const std::stop_token& stop) {
    const auto end = std::chrono::steady_clock::now() + options.limit;
    while (!workers.isOver()) {
        if (stop.stop_requested()) {
            return cancelled("stopped");
        }
        if (std::chrono::steady_clock::now() > end) {
            return workers.trial().steps > 0
                       ? okStatus()
                       : deadlineExceeded("no step within ", options.limit.count() / 1000, " s");
        }
        for (Child* child : {&feed, &trainer}) {
            const std::string why = child->silentEnd();
            // Its last lines may still be on their way.
            if (!why.empty() && !workers.isOver()) {
                return internalError(why);
            }
        }
    }
    return okStatus();
}

}  // namespace

bool canTrain() {
    return ::access(strCat(programDirectory(), "/", kTrainer).c_str(), X_OK) == 0;
}

Result<Trial> runTrial(const ResolvedRun& run, const TrialOptions& options, TrialProgress& progress,
                       const std::stop_token& stop) {
    const ScratchDirectory scratch("millrace-trial");
    if (scratch.path().empty()) {
        return errnoStatus(errno, "a directory for a trial");
    }
    ASSIGN_OR_RETURN(const std::string job, writeJob(run, options.steps, scratch.path()));
    Workers workers(progress);
    RETURN_IF_ERROR(workers.listen(job::AttemptPaths(scratch.path()).rankSocket()));
    Child feed{"millrace-loader", "", {}}, trainer{kTrainer, "", {}};
    RETURN_IF_ERROR(feed.start({"feed", "--job", job}, scratch.path()));
    RETURN_IF_ERROR(trainer.start({"--job", job, "--rank", "0"}, scratch.path()));
    const Status waited = waitFor(workers, feed, trainer, options, stop);
    if (!workers.error().empty()) {
        return invalidArgument(workers.error());
    }
    RETURN_IF_ERROR(waited);
    Trial trial = workers.trial();
    if (trial.steps == 0) {
        return invalidArgument("no step was trained");
    }
    if (!std::isfinite(trial.lastLoss)) {
        return invalidArgument(
            "the loss of step ", trial.steps,
            " is not a finite number; look for very large values among the dense "
            "features");
    }
    return trial;
}

}  // namespace millrace::loader

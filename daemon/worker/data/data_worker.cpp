#include "daemon/worker/data/data_worker.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

#include "backend/core/log.h"
#include "backend/system/secrets.h"
#include "daemon/worker/data/worker_session.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/process.h"
#include "daemon/worker/loader/progress.h"

namespace millrace::data {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kReportMs = 500;
constexpr int kLookMs = 100;
// How long a feed that does not answer is retried before it counts as gone.
constexpr std::chrono::seconds kAwayTime{10};

/// The feed passes on keys of its object store. A worker that was started by hand has no guardian
/// to forbid core files, so it does so itself; MILLRACE_CORE_DUMPS=1 allows them, as for a
/// guardian.
Status keepKeysOutOfDumps() {
    const char* wanted = std::getenv("MILLRACE_CORE_DUMPS");
    return wanted != nullptr && std::string_view(wanted) == "1" ? okStatus() : keepOutOfDumps();
}

/// A feed that starts at the same time writes the file a moment later.
Result<transport::JoinFile> awaitFile(const loader::DataRequest& request,
                                      const loader::Watch& watch) {
    const auto end = Clock::now() + std::chrono::seconds(request.waitSeconds);
    for (;;) {
        auto file = transport::JoinFile::read(request.joinPath);
        if (file.ok() || file.status().code() != absl::StatusCode::kNotFound ||
            Clock::now() >= end) {
            return file;
        }
        if (watch.wait(kLookMs)) {
            return loader::toldToEnd();
        }
    }
}

/// The feed is away, or released this worker because of its silence: worth a retry.
bool isPassing(const Status& status) {
    return status.code() == absl::StatusCode::kUnavailable ||
           status.code() == absl::StatusCode::kDeadlineExceeded ||
           status.code() == absl::StatusCode::kUnauthenticated;
}

class DataWorker {
 public:
    explicit DataWorker(const loader::DataRequest& request) : request_(request) {}

    Status run() {
        RETURN_IF_ERROR(keepKeysOutOfDumps());
        ASSIGN_OR_RETURN(transport::JoinFile file, awaitFile(request_, watch_));
        auto lastSeen = Clock::now();
        for (;;) {
            const Status status = stay(file, lastSeen);
            const bool isGone = ::access(request_.joinPath.c_str(), F_OK) != 0;
            if (status.ok() || isLeaving_ || !isPassing(status)) {
                return isLeaving_ ? okStatus() : status;
            }
            if (isGone || Clock::now() - lastSeen > kAwayTime) {
                return unavailable(request_.joinPath, ": the feed that wrote it is gone (",
                                   messageOf(status), ")");
            }
            logInfo("data: joins again", {{"why", messageOf(status)}});
            if (watch_.wait(kReportMs)) {
                return okStatus();
            }
            // The feed that replaces a killed one writes the same file, with its own address and
            // token.
            if (auto newest = transport::JoinFile::read(request_.joinPath); newest.ok()) {
                file = *std::move(newest);
            }
        }
    }

 private:
    Status stay(const transport::JoinFile& file, Clock::time_point& lastSeen) {
        ASSIGN_OR_RETURN(const Joined joined, join(file, request_.buildId));
        if (engine_ == nullptr) {
            ASSIGN_OR_RETURN(
                engine_, Engine::make(joined, threadsFor(joined.spec, file), request_.memoryMb));
        } else if (engine_->store != nullptr && joined.store) {
            engine_->store->hand(joined.store->credentials);  // may have changed meanwhile
        }
        ASSIGN_OR_RETURN(const auto stay, WorkerSession::begin(file, joined, *engine_));
        logInfo("data: joined", {{"file", request_.joinPath}, {"threads", engine_->threads}});
        while (!stay->isOver()) {
            lastSeen = Clock::now();
            if (watch_.wait(kReportMs)) {
                if (std::exchange(isLeaving_, true)) {
                    return okStatus();  // second signal: its segments are recomputed elsewhere
                }
                logInfo("data: leaves");
                stay->leave();
                watch_.drain();
            }
            stay->report();
        }
        return stay->end();
    }

    int threadsFor(const spec::RunSpec& spec, const transport::JoinFile& file) const {
        const bool isGiven = request_.threads > 0 || spec.resources.loaderThreads > 0;
        return isGiven || !file.isUnix() ? request_.threads
                                         : sharedThreads(spec, loader::usableCores());
    }

    const loader::DataRequest request_;
    const loader::Watch watch_;
    std::unique_ptr<Engine> engine_;
    bool isLeaving_ = false;
};

}  // namespace

int sharedThreads(const spec::RunSpec& spec, int cores) {
    const auto workers = static_cast<int>(spec.resources.dataWorkersMin);
    return std::max(1, cores / std::max(1, workers));
}

int runDataWorker(const loader::DataRequest& request) {
    const Status status = DataWorker(request).run();
    return status.ok() ? kExitDone : loader::fail(status);
}

}  // namespace millrace::data

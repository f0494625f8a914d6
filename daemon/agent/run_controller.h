#pragma once
// RunController: the queue and every active run, driven by one thread.
//
// Everything that happens to a run arrives here as a message (workers' lines, the engine's events,
// requests) and is handled in order, so that runs need no locks. Threads: public methods from any
// thread; requests wait for their answer. Owns: the active runs. Bounded: the mailbox; workers send
// lines again that found it full.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/core/bounded_queue.h"
#include "backend/core/clock.h"
#include "backend/core/mutex.h"
#include "backend/schedule/fifo.h"
#include "daemon/agent/line_intake.h"
#include "daemon/agent/look_pace.h"
#include "daemon/agent/run/active_run.h"
#include "daemon/agent/stray_gangs.h"
#include "daemon/agent/system_metrics.h"

namespace millrace::agent {

struct ControllerOptions {
    std::string runsDir;
    std::chrono::milliseconds commitDelay{20};  ///< lines are gathered this long
    std::chrono::milliseconds tick{250};        ///< while runs are active
    std::string warning;                        ///< shown as long as the daemon runs
    std::string noTrainer = {};                 ///< why queued runs wait; empty: they do not
    RunTimes times = {};
    std::string sharedCheckpoints = {};  ///< as in Workplace
    CountValues countValues = {};        ///< likewise
};

struct ControllerParts {
    runs::RunStore& store;
    engines::Engine& engine;
    ListenerMaker& listeners;
    LiveTable& live;
    const Clock& clock;
    const job::WorkerLogs& logs;
    std::function<void()> pokeEngine;
    Nodes& nodes;
    SystemSource* system = nullptr;  ///< null: no system metrics are stored with runs
};

class RunController {
 public:
    RunController(ControllerOptions options, ControllerParts parts);
    ~RunController();

    /// Reads the store and the workers' directories, adopts running runs and queues waiting ones.
    Status recover();
    /// Starts the thread ("agent").
    void start();
    /// Ends the thread; messages posted afterwards are dropped. The workers continue.
    void end();
    /// Handles all queued messages without the thread: for tests.
    void drain();

    /// Call when the store has new queued runs. `specs`: those that are parsed already, by id.
    void queueChanged(std::map<std::string, SharedSpec> specs = {});
    /// Call when a gang of the head's machine has changed.
    void post(const std::string& key, const engines::State& state);
    Status stop(const std::string& runId, const std::string& reason,
                std::chrono::milliseconds grace);
    /// Puts a run that has ended at the back of the queue. `from`: a checkpoint's step, kFromLast
    /// (not for a finished run, nor for one without checkpoints) or kFromStart.
    Status resume(const std::string& run, std::int64_t from, const runs::MaybeSpecChange& = {});
    /// Stops all runs and waits; afterwards none is started any more. kUnavailable: giveUpDown()
    /// was called.
    Result<values::DownReport> down(std::chrono::milliseconds grace);
    /// True while down() waits.
    bool isGoingDown() const { return isGoingDown_; }
    /// Ends the wait of down(): the daemon must end. Runs that were asked to stop still do so.
    void giveUpDown();

    /// The present problems, one sentence each.
    std::vector<std::string> warnings() const;
    struct Counts {
        int running = 0, queued = 0;
    };
    Counts counts() const;
    /// The logs of all runs' workers.
    const job::WorkerLogs& logs() const { return parts_.logs; }

 private:
    /// Pause before a run that cannot be read is read again.
    static constexpr std::int64_t kUnreadRetryNs = 4'000 * kNsPerMs;
    static constexpr std::int64_t kEndingRetryNs = 250 * kNsPerMs;

    using Message = std::function<void()>;
    struct Waiting {
        std::string id;
        std::int64_t fromStep = 0;
    };
    /// A run that an earlier daemon started and that cannot be read; it is retried.
    struct Unread {
        std::string why;
        std::int64_t retryNs = 0;
    };

    void loop(std::stop_token stop);
    void step();
    template <class T>
    T ask(std::function<T()> question);

    void tellUnread();
    void flushLines();
    void recordSystem();
    void startWaiting();
    void startOne(const Waiting& waiting);
    Status readQueue();
    Result<SharedSpec> specOf(const std::string& id);
    schedule::Decision decide() const;
    void showReasons(const std::vector<schedule::Waiting>& waiting);
    void noteUnread(const std::string& id, const Status& why);
    void adoptAll();
    Status adoptOne(const std::string& id);
    Status refuse(const std::string& id, const std::string& reason);
    void dropEnded();
    void publishCounts();
    RankCallbacks listenerFor(const std::string& runId);
    ActiveRun* active(const std::string& runId);
    Status stopNow(const std::string& runId, const std::string& reason,
                   std::chrono::milliseconds grace);
    std::chrono::milliseconds patience() const;

    const ControllerOptions options_;
    ControllerParts parts_;
    const CheckpointCatalogue checkpoints_;
    SideThreads sides_;
    Workplace place_;
    LineIntake intake_;
    SystemRecorder system_;
    std::atomic<bool> isGoingDown_{false};
    std::atomic<std::size_t> mailBytes_{0};  // of workers' lines in the mailbox
    BoundedQueue<Message> mailbox_;
    // For the controller's thread only:
    std::vector<Waiting> queue_;               // as the store had it at the last look
    std::map<std::string, SharedSpec> specs_;  // of the runs in `queue_`
    std::map<std::string, Unread> unread_;     // by run
    std::map<std::string, std::unique_ptr<ActiveRun>> active_;
    StrayGangs strays_;
    LookPace pace_;
    bool isDown_ = false, isQueueChanged_ = false;
    std::int64_t queueRetryNs_ = 0;  // the store could not be read: next try
    // > 0: a queued run could not be read, or lacks nodes; when the queue is read again
    std::int64_t unreadNs_ = 0;
    std::string queueTrouble_;
    std::int64_t flushAtNs_ = 0;
    std::shared_ptr<std::promise<bool>> allEnded_;  // false: the wait was given up

    mutable Mutex mutex_;
    std::vector<std::string> warnings_ MR_GUARDED_BY(mutex_);
    Counts counts_ MR_GUARDED_BY(mutex_);
    std::jthread thread_;
};

}  // namespace millrace::agent

#pragma once
// RunController: the queue and every run that is on its way, moved on by one thread.
//
// Everything that happens to a run arrives here as a message (workers' lines, the engine's events,
// requests) and is dealt with in order, so that runs need no locks. Threads: public methods from
// any thread; requests wait for their answer. Owns: the active runs. Bounded: the mailbox; workers'
// lines that find it full are sent again by them.
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
    int maxRunning = 0;                         ///< 0: as many as fit
    std::chrono::milliseconds commitDelay{20};  ///< lines are gathered this long
    std::chrono::milliseconds tick{250};        ///< while runs are active
    std::string warning;                        ///< that stands as long as the daemon does
    std::string noTrainer = {};                 ///< why queued runs wait; empty: they do not
    RunTimes times = {};
    std::string sharedCheckpoints = {};  ///< as Workplace
    CountValues countValues = {};        ///< likewise
};

struct ControllerParts {
    runs::RunStore& store;
    engines::Engine& engine;
    DoorMaker& doors;
    LiveTable& live;
    const Clock& clock;
    const job::WorkerLogs& logs;
    std::function<void()> pokeEngine;
    Nodes& nodes;
    SystemSource* system = nullptr;  ///< null: nothing of the node is stored with runs
};

class RunController {
 public:
    RunController(ControllerOptions options, ControllerParts parts);
    ~RunController();

    /// Reads the store and the workers' directories, adopts what runs and queues what waits.
    Status recover();
    /// Starts the thread ("agent").
    void start();
    /// Ends the thread; what is posted afterwards is dropped. The workers go on.
    void end();
    /// Deals with all that waits, without the thread: for tests.
    void drain();

    /// The store has runs in the state queued that were not there before.
    void queueChanged();
    /// A gang of the head's machine has changed.
    void post(const std::string& key, const engines::State& state);
    Status stop(const std::string& runId, const std::string& reason,
                std::chrono::milliseconds grace);
    /// A run that has ended goes back into the queue, behind all others. `from`: a checkpoint's
    /// step, kFromLast (not of a finished run, nor of one without checkpoints) or kFromStart.
    Status resume(const std::string& run, std::int64_t from, const runs::MaybeSpecChange& = {});
    /// Stops all and waits; afterwards nothing is started any more. kUnavailable when it was given
    /// up.
    Result<values::DownReport> down(std::chrono::milliseconds grace);
    /// True while down() waits.
    bool isGoingDown() const { return isGoingDown_; }
    /// Ends the wait of down(): the daemon has to go. What was asked to stop goes on stopping.
    void giveUpDown();

    /// What is wrong now, one sentence each.
    std::vector<std::string> warnings() const;
    struct Counts {
        int running = 0, queued = 0;
    };
    Counts counts() const;
    /// What the workers of all runs print.
    const job::WorkerLogs& logs() const { return parts_.logs; }

 private:
    /// A run that cannot be read is tried again so often.
    static constexpr std::int64_t kUnreadRetryNs = 4'000 * kNsPerMs;
    static constexpr std::int64_t kEndingRetryNs = 250 * kNsPerMs;

    using Message = std::function<void()>;
    struct Waiting {
        std::string id;
        std::int64_t fromStep = 0;
    };
    /// A run of an earlier daemon's that could not be read; it is tried again.
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
    Result<JobFacts> factsOf(const std::string& id);
    schedule::Decision decide() const;
    void showReasons(const std::vector<schedule::Waiting>& waiting);
    void noteUnread(const std::string& id, const Status& why);
    void adoptAll();
    Status adoptOne(const std::string& id);
    Status refuse(const std::string& id, const std::string& reason);
    void dropEnded();
    void publishCounts();
    DoorListener listenerFor(const std::string& runId);
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
    // Of the controller's thread:
    std::vector<Waiting> queue_;             // as the store had it at the last look
    std::map<std::string, JobFacts> facts_;  // of the runs in `queue_`
    std::map<std::string, Unread> unread_;   // by run
    std::map<std::string, std::unique_ptr<ActiveRun>> active_;
    StrayGangs strays_;
    LookPace pace_;
    bool isDown_ = false, isQueueChanged_ = false;
    std::int64_t queueRetryNs_ = 0;  // the store could not be read: not before
    // > 0: a run in it could not, or lacks nodes; the queue is looked at again then
    std::int64_t unreadNs_ = 0;
    std::string queueTrouble_;
    std::int64_t flushAtNs_ = 0;
    std::shared_ptr<std::promise<bool>> allEnded_;  // false: nobody waits for it any more

    mutable Mutex mutex_;
    std::vector<std::string> warnings_ MR_GUARDED_BY(mutex_);
    Counts counts_ MR_GUARDED_BY(mutex_);
    std::jthread thread_;
};

}  // namespace millrace::agent

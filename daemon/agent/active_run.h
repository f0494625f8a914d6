#pragma once
// ActiveRun: one run from the start of an attempt to its end, over as many attempts as it takes.
//
// Threads: the controller's only. Owns: the attempt's door. Failure: a run that cannot go on ends
// as failed with the reason; nothing here throws or ends the daemon.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "backend/core/clock.h"
#include "backend/engines/engine.h"
#include "backend/runs/run_store.h"
#include "daemon/agent/job.h"
#include "daemon/agent/line_intake.h"
#include "daemon/agent/live_table.h"
#include "daemon/agent/run_directory.h"
#include "daemon/agent/run_health.h"
#include "daemon/agent/verdict.h"
#include "daemon/agent/worker_door.h"

namespace millrace::agent {

/// What runs work with. All of it outlives them.
struct Workplace {
    runs::RunStore& store;
    engines::Engine& engine;
    DoorMaker& doors;
    LiveTable& live;
    const Clock& clock;
    std::string runsDir, binDir;
    std::function<void()> pokeEngine;  ///< something was asked of the engine
    std::function<DoorListener(const std::string&)> listener;  ///< of a run, for its door
};

class ActiveRun {
 public:
    ActiveRun(Workplace& place, runs::RunRecord run, JobFacts facts, schedule::Resources needs);

    /// Starts the next attempt, from the last checkpoint or the one of `fromStep` (0: the last).
    /// `isRestart`: by itself, after a failure.
    void launch(std::int64_t fromStep = 0, bool isRestart = false);
    /// Goes on with the present attempt of a run that an earlier daemon started.
    void adopt();

    void hello(rank::ConnectionId connection, const rank::Sender& sender);
    void closed(rank::ConnectionId connection);
    /// No room for its lines: what still comes over it is ignored; the worker sends all of it again
    /// over the next one.
    void dropConnection(rank::ConnectionId connection);
    bool accepts(rank::ConnectionId connection) const { return !dropped_.contains(connection); }
    /// A line has come in (it is not in the store yet).
    void heard(const rank::Sender& sender, const rank::RankLine& line);
    /// A line is in the store.
    void committed(const CommittedLine& line);
    void ack(const AckOrder& order);
    void engineSays(const engines::State& state);
    /// `reason` becomes the exit reason. Asking again may only shorten the time.
    void requestStop(const std::string& reason, std::chrono::milliseconds grace);
    /// What is wrong with the store, as far as this run is concerned; "": nothing.
    void setStoreTrouble(const std::string& sentence) { health_.setTrouble("store", sentence); }
    /// Deadlines; `isFlushed`: everything heard of this run is in the store.
    void tick(bool isFlushed);

    bool hasEnded() const { return hasEnded_; }
    const std::string& id() const { return run_.id; }
    int attempt() const { return run_.attempt; }
    /// The last step that was reported, with its epoch and rows; no values.
    runs::MetricLine position() const;
    const std::string& jobNative() const { return job_.native; }
    const schedule::Resources& needs() const { return needs_; }

 private:
    struct StopWish {
        std::string reason;
        std::int64_t deadlineNs = 0;
        bool isCancelled = false;  // the engine was asked to end it
    };

    struct UnstoredEnd {
        runs::RunState state;
        std::string reason;
        std::int64_t retryNs = 0;
    };

    Status prepareAttempt(std::int64_t fromStep, bool isRestart);
    Status place();
    Status openDoor();
    Result<std::optional<runs::CheckpointRecord>> findCheckpoint(std::int64_t fromStep) const;
    Result<std::string> findInitFrom() const;
    void readAttemptFile();
    void keepCheckpoints();
    void dropCheckpointsAfter(std::int64_t step);
    void dropCheckpoint(const runs::CheckpointRecord& checkpoint);
    void notePackages(const Json& packages);
    void sayDone(const CommittedLine& line, const rank::Done& done);
    void writeDone();
    void conclude();
    void end(runs::RunState state, const std::string& reason);
    void storeReceipt();
    /// False when the store could not take it.
    bool setState(runs::RunState state, const std::string& reason = "");
    void publish();
    void addEvent(const std::string& text);
    void noteSilence(const engines::State& before, const engines::State& now);
    AttemptFacts facts() const;
    void endLingering();
    bool isRankAlive() const;
    void lookAtHealth();
    std::vector<LiveWorker> liveWorkers() const;

    Workplace& place_;
    runs::RunRecord run_;  // without the plan's and spec's text once started
    const JobFacts facts_;
    const schedule::Resources needs_;
    const RunDirectory directory_;
    engines::JobId job_;
    std::unique_ptr<WorkerDoor> door_;
    std::map<rank::ConnectionId, rank::Sender> connections_;
    std::set<rank::ConnectionId> dropped_;
    std::optional<StopWish> stop_;
    std::map<std::string, std::string> errors_;  // worker -> its own sentence
    std::optional<engines::State> state_;        // the engine's newest word
    Json done_;                                  // worker -> what it said
    LiveRun live_;
    RunHealth health_;
    std::int64_t resumeStep_ = 0, lastStep_ = 0;
    std::int64_t lastEpoch_ = 0, lastRows_ = 0;
    std::int64_t restarts_ = 0;
    int idleAttempts_ = 0;
    std::int64_t endSeenNs_ = 0, ranksGoneNs_ = 0;
    bool isLingerCancelled_ = false;
    std::int64_t doneRetryNs_ = 0;  // done.json could not be written: acks are held until it is
    std::map<std::pair<rank::ConnectionId, std::int64_t>, AckOrder> heldAcks_;
    std::optional<UnstoredEnd> unstoredEnd_;
    bool hasEnded_ = false;
};

}  // namespace millrace::agent

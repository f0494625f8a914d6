#pragma once
// ActiveRun: one run from the start of an attempt to its end, over as many attempts as it takes.
//
// Threads: the controller's only. Owns: the attempt's door. Failure: a run that cannot go on ends
// as failed with the reason; nothing here throws or ends the daemon.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "backend/core/clock.h"
#include "backend/engines/engine.h"
#include "backend/runs/run_store.h"
#include "daemon/agent/checkpoint_catalogue.h"
#include "daemon/agent/job.h"
#include "daemon/agent/line_intake.h"
#include "daemon/agent/live_table.h"
#include "daemon/agent/receipts.h"
#include "daemon/agent/run_directory.h"
#include "daemon/agent/run_health.h"
#include "daemon/agent/side_thread.h"
#include "daemon/agent/verdict.h"
#include "daemon/agent/worker_door.h"

namespace millrace::agent {

class ActiveRun;

/// What runs work with. All of it outlives them.
struct Workplace {
    runs::RunStore& store;
    engines::Engine& engine;
    DoorMaker& doors;
    LiveTable& live;
    const CheckpointCatalogue& checkpoints;
    SideThread& side;       ///< for what reads or removes large files
    SideThread& documents;  ///< for plans and receipts: never behind a checkpoint's bytes
    const Clock& clock;
    std::string runsDir, binDir;
    std::function<void()> pokeEngine;  ///< something was asked of the engine
    std::function<DoorListener(const std::string&)> listener;  ///< of a run, for its door
    std::function<ActiveRun*(const std::string&)> find;        ///< null: it is active no more
};

class ActiveRun {
 public:
    ActiveRun(Workplace& place, runs::RunRecord run, JobFacts facts, schedule::Resources needs);

    /// Starts the next attempt, from the checkpoint of `fromStep`, kFromLast or kFromStart, once
    /// its checkpoints have been looked at. `isRestart`: by itself, after a failure.
    void launch(std::int64_t fromStep = runs::kFromLast, bool isRestart = false);
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
    runs::ReportedLine position() const;
    const std::string& jobNative() const { return job_.native; }
    const schedule::Resources& needs() const { return needs_; }

 private:
    struct StopWish {
        std::string reason;
        std::int64_t deadlineNs = 0;
        bool isCancelled = false;  // the engine was asked to end it
    };

    /// The run's end, from the verdict until the store has it.
    struct Ending {
        runs::RunState state;
        std::string reason;
        bool isAsked = false;      // for the receipt
        std::int64_t retryNs = 0;  // > 0: the store did not take it
    };

    /// An attempt whose checkpoints are being looked at, and then its job.json written.
    struct Start {
        std::uint64_t number = 0;
        std::int64_t fromStep = runs::kFromLast;
        bool isRestart = false;
        bool isAsked = false;
        std::stop_source stop;
        std::shared_ptr<std::atomic<std::uint64_t>> bytesRead =
            std::make_shared<std::atomic<std::uint64_t>>(0);
        std::optional<Survey> survey;  // nothing: not looked yet
        std::int64_t retryNs = 0;      // > 0: it did not go and is tried again then
    };

    void askSurvey();
    void followSurvey();
    void surveyed(std::uint64_t number, const Survey& survey);
    void failStart(const Status& status);
    std::int64_t tryLater(const Status& status);
    void askJob();
    Result<Json> nextJob() const;
    void jobWritten(std::uint64_t number, const Status& written);
    Status beginAttempt(const Start& start);
    std::chrono::milliseconds graceLeft() const;
    Status place();
    void followPlacing();
    void stopPlacing();
    Status openDoor();
    Result<std::string> findInitFrom() const;
    void readAttemptFile();
    void findGang();
    Status followGang();
    Status endHalfStarted();
    void startLost();
    void noteUnknown(const Status& status);
    void askAgain();
    void cancelLost();
    void noticeBegin(const CommittedLine& line);
    void keepCheckpoints();
    void retained(const Status& status);
    void notePackages(const Json& packages);
    void sayDone(const CommittedLine& line, const rank::Done& done);
    void writeDone();
    void conclude();
    void end(runs::RunState state, const std::string& reason);
    void followEnd();
    ReceiptInputs receiptInputs() const;
    void askReceipt();
    void storeEnd();
    /// False when the store could not take it.
    bool setState(runs::RunState state, const std::string& reason = "");
    void publish();
    void addEvent(const std::string& text);
    AttemptFacts facts() const;
    bool isDoneKept() const;
    void endLingering();
    bool isRankAlive() const;
    void lookAtHealth();
    std::vector<LiveWorker> liveWorkers() const;

    Workplace& place_;
    runs::RunRecord run_;  // without the spec's text once started
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
    std::optional<Start> start_;
    std::uint64_t numStarts_ = 0;
    std::int64_t startBackoffNs_ = 0;  // > 0: its start did not go for something that passes
    std::int64_t placeNs_ = 0;         // > 0: the attempt has no whole gang yet, tried again then
    std::int64_t fromStep_ = runs::kFromLast;  // that the attempt was asked to go on from
    bool hasBegun_ = false;                    // the attempt: the store has cut what it replaces
    bool isRetaining_ = false, isRetainDue_ = false;
    bool isUnknown_ = false;  // adopted, and not known whether its workers live
    std::int64_t unknownSinceNs_ = 0, askAgainNs_ = 0;
    bool isHalfStarted_ = false;  // its gang cannot become whole and was told to end
    std::int64_t resumeStep_ = 0, lastStep_ = 0;
    std::int64_t lastEpoch_ = 0, lastRows_ = 0;
    std::int64_t restarts_ = 0;
    int idleAttempts_ = 0;
    std::int64_t endSeenNs_ = 0, ranksGoneNs_ = 0;
    bool isLingerCancelled_ = false;
    std::int64_t doneRetryNs_ = 0;  // done.json could not be written: acks are held until it is
    std::map<std::pair<rank::ConnectionId, std::int64_t>, AckOrder> heldAcks_;
    std::optional<Ending> ending_;
    bool hasEnded_ = false;
};

}  // namespace millrace::agent

#pragma once
// ActiveRun: one run up to its end, over as many attempts as it takes. Used by RunController.
//
// Its methods report what happens to the run. An AttemptState holds its stage; the table there
// defines which stages may follow (docs/architecture/attempt.md). Threads: the controller's only.
// Owns: the attempt's listener. Failure: a run that cannot continue ends as failed, with the
// reason; nothing here throws or ends the daemon.
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "backend/runs/run_store.h"
#include "daemon/agent/crew/data_worker_set.h"
#include "daemon/agent/crew/gang.h"
#include "daemon/agent/crew/part_set.h"
#include "daemon/agent/run/attempt_state.h"
#include "daemon/agent/run/checkpoints/checkpoint_keeper.h"
#include "daemon/agent/run/done_words.h"
#include "daemon/agent/run/gang_listener.h"
#include "daemon/agent/run/gang_termination.h"
#include "daemon/agent/run/preparation.h"
#include "daemon/agent/run/run_end.h"
#include "daemon/agent/run/run_health.h"
#include "daemon/agent/run/run_journal.h"
#include "daemon/agent/run/verdict.h"
#include "daemon/agent/run/workplace.h"
#include "daemon/agent/times/recovery.h"

namespace millrace::agent {

class ActiveRun {
 public:
    ActiveRun(Workplace& place, runs::RunRecord run, SharedSpec spec);

    /// Starts the next attempt from the checkpoint of `fromStep`, kFromLast or kFromStart, after
    /// its checkpoints have been surveyed. `isRestart`: the daemon restarts it after a failure.
    void launch(std::int64_t fromStep = values::kFromLast, bool isRestart = false);
    /// Follows the current attempt of a run that an earlier daemon started.
    void adopt();

    void hello(rank::ConnectionId connection, const rank::Sender& sender);
    void closed(rank::ConnectionId connection) { listener_.closed(connection); }
    /// Drops a connection because there is no room for its lines.
    void dropConnection(rank::ConnectionId connection) { listener_.drop(connection); }
    bool accepts(rank::ConnectionId connection) const { return listener_.accepts(connection); }
    /// A line has come in (it is not in the store yet). Returns others to store, of its attempt.
    TimeLines heard(const rank::Sender& sender, const rank::RankLine& line);
    /// Returns the last lines to store, once it has ended.
    TimeLines lastTimes() const { return times_.lastStalls(); }
    /// Whether the file is here that the line tells of, if it tells of one.
    bool hasFile(const rank::RankLine& line) const {
        return parts_.isHere() || journal_.directory().hasFile(line);
    }
    /// A line is in the store.
    void committed(const CommittedLine& line);
    void ack(const AckOrder& order) { listener_.ack(order, done_.isUnwritten()); }
    /// Call when something of the current attempt may have changed on the head's machine.
    void lookAtGang();
    /// Asks the run to stop; `reason` becomes the exit reason. Later calls only shorten `grace`.
    void requestStop(const std::string& reason, std::chrono::milliseconds grace);
    /// Sets what is wrong with the store for this run; "": nothing.
    void setStoreTrouble(const std::string& sentence) { health_.setTrouble("store", sentence); }
    /// Checks deadlines. `isFlushed`: all lines received from this run are in the store.
    void tick(bool isFlushed);

    Stage stage() const { return state_.stage(); }
    bool hasEnded() const { return stage() == Stage::kEnded; }
    /// The store has it in the queue: its start is being prepared.
    bool isQueued() const { return journal_.run().state == values::RunState::kQueued; }
    /// The parts that still need nodes; empty: they have them, or the run is over.
    std::vector<schedule::Part> partsToPlace() const;
    const std::string& id() const { return journal_.id(); }
    int attempt() const { return journal_.attempt(); }
    std::size_t numWorkers() const { return journal_.live().workers.size(); }
    /// The last step that was reported, with its epoch and rows; without values.
    const runs::ReportedLine& position() const { return position_; }
    /// Key of part 0's gang in the current attempt.
    std::string key() const { return gangKey(id(), attempt()); }

 private:
    // An attempt's start.
    void followPreparation();
    void askSurvey();
    void surveyed(std::uint64_t number, const CheckpointScan& scan);
    void askJob();
    Result<job::JobFile> nextJob() const;
    void jobWritten(std::uint64_t number, const Status& written);
    Status beginAttempt();
    void failStart(const Status& status);
    void tryLater(const Status& status);
    void place();
    Status placeNow();
    void followPlacing();
    void stopPlacing();
    Status openListener();
    bool isAnswerTo(Stage stage, std::uint64_t number) const;

    // Adopting what an earlier daemon left.
    void readAttemptFile();
    void findGang();
    Status followGang();
    void noteUnknown(const Status& status);
    void askAgain();

    // A running gang, and its end.
    void noticeBegin(const CommittedLine& line);
    void retained(const Status& status) { checkpoints_.kept(status, answer(&ActiveRun::retained)); }
    void followGoing(bool isFlushed);
    void followParts();
    void leaveNodes();
    Result<Placement> placementOf(const PartName& name, const std::string& node, int masterPort,
                                  const schedule::Resources& needs) const;
    void noteGang(const engines::State& state);
    void followDeadlines();
    void cut(Move move);
    void askCancel();
    void lookAtHealth();
    AttemptExtent extent() const;
    AttemptReports attemptFacts() const;
    void conclude();

    // The end of the run.
    void end(values::RunState state, const std::string& reason);
    bool isStopped() const { return stop_.has_value() && !stop_->isMove; }
    void endStopped() { end(values::RunState::kCancelled, stop_->reason); }
    void askReceipt();
    void receiptMade(const Status& status);
    void storeEnd();
    void tryAgain(Move how);

    void move(Move move) { state_.move(move, place_.clock.steadyNs()); }
    /// Wraps the method `then` as an answer: it is called only while the run is active.
    template <class... Args>
    std::function<void(Args...)> answer(void (ActiveRun::*then)(Args...)) const {
        return [&place = place_, id = id(), then](Args... args) {
            if (ActiveRun* run = place.find(id)) {
                (run->*then)(args...);
            }
        };
    }

    Workplace& place_;
    SharedSpec spec_;  // another one once values are counted
    RunJournal journal_;
    AttemptState state_;
    GangListener listener_;
    DoneWords done_;
    CheckpointKeeper checkpoints_;
    RunHealth health_;
    GangTermination cut_;
    DataWorkerSet crew_;
    PartSet parts_;
    Recovery recovery_;
    TimeAccount times_;
    std::optional<Preparation> preparation_;
    std::uint64_t numPreparations_ = 0;
    std::int64_t startBackoffNs_ = 0;     // > 0: its start failed for a reason that may pass
    std::string startFailure_;            // why the current attempt can never be placed
    AttemptStart begin_;                  // of the current attempt
    bool hasBegun_ = false;               // current attempt: the store has cut what it replaces
    bool isAdopted_ = false;              // current attempt: another daemon started it
    std::optional<engines::State> gang_;  // the newest state of all its parts
    std::map<std::string, std::string> errors_;  // worker -> its own error message
    runs::ReportedLine position_;
    std::optional<GangStop> stop_;
    std::int64_t heardNs_ = 0;  // last sign of a worker, in kUnknown
    RunEnd end_;
};

}  // namespace millrace::agent

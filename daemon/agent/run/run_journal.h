#pragma once
// RunJournal: what one run shows to the outside: its state in the store, its entry in the live
// table, its history. Used by ActiveRun.
//
// Threads: one owner (the controller's). Owns: the run's record. Failure: what cannot be stored is
// logged; setState() returns whether it was stored.
#include <optional>
#include <string>

#include "backend/runs/run_store.h"
#include "backend/text/json.h"
#include "daemon/agent/run/run_directory.h"
#include "daemon/agent/run/workplace.h"

namespace millrace::agent {

class RunJournal {
 public:
    /// `place` outlives it.
    RunJournal(Workplace& place, runs::RunRecord run);

    const runs::RunRecord& run() const { return run_; }
    const std::string& id() const { return run_.id; }
    int attempt() const { return run_.attempt; }
    const RunDirectory& directory() const { return directory_; }
    void setAttempt(int attempt) {
        run_.attempt = attempt;
        lackedRoom_ = false;
    }
    /// Takes over the values that were counted for the run; std::nullopt changes nothing.
    void pin(const std::optional<runs::CountedSpec>& counted);
    /// Call it each turn. Notes whether the disk is full, and retries each second to store a state
    /// that the store did not take: otherwise a user's stop would be lost with the daemon.
    void look();
    /// Whether the disk was full at any look during the attempt.
    bool lackedRoom() const { return lackedRoom_; }

    /// False when the store could not take it. `settledStep`: runs::StateChange.
    bool setState(values::RunState state, const std::string& reason = "",
                  std::int64_t settledStep = 0);
    /// Notes that the attempt's workers are at work: a rank reported it, or the run has no stream,
    /// so that its command need not report. False if that was known.
    bool tellRunning();
    /// Its live entry; publish() shows the changes made here.
    values::RunLive& live() { return live_; }
    const values::RunLive& live() const { return live_; }
    void publish();
    /// Calls publish(). If `isFirst`, also adds live().queuedReason to history and log.
    void waits(bool isFirst, std::string_view log);
    /// Removes its live entry.
    void erase();
    void addEvent(const std::string& text);
    /// Adds the event of the run's end, once. Call it before the store has the end: a client that
    /// sees the end there may purge the run at once.
    void tellEnd(values::RunState state, const std::string& reason);
    /// addEvent() for each, and a line in the daemon's log for each: "run: health".
    void addNews(const std::vector<std::string>& news, std::string_view log);
    /// Call when the attempt is over and another one follows. `isMove`: it ended well but must
    /// continue on other nodes.
    void tellNext(const std::string& reason, bool isMove);
    /// Call when the attempt is placed: it resumes after that step and is live. `node`: where rank
    /// 0 trains, if that is new; "": on the head's machine. Its name becomes the run's host.
    void tellPlaced(std::int64_t resumeStep, const std::optional<std::string>& node = std::nullopt);
    /// Takes the versions from a worker's receipt, for rank 0 of a script its file and interpreter,
    /// and from the feed the traffic between machines, which publish() then shows.
    void noteReceipt(const std::string& worker, const Json& receipt, bool isScript);
    /// Returns the names of those of `ranks` ranks that a daemon has heard from in this attempt.
    /// They connect to the next daemon at once unless they stand still.
    Result<std::vector<std::string>> ranksHeard(int ranks) const;

 private:
    void setHost(const std::string& host);
    void notePackages(const Json& packages);
    void noteScript(const Json& script);

    Workplace& place_;
    runs::RunRecord run_;  // without the spec's text once started
    const RunDirectory directory_;
    values::RunLive live_;
    std::string why_;           // why it is in its state
    std::int64_t retryNs_ = 0;  // > 0: the store does not have the state
    bool isEndTold_ = false;
    bool lackedRoom_ = false;
};

}  // namespace millrace::agent

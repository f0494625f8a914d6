#pragma once
// DoneWords: the `done` messages of the current attempt's workers, what its feed reported before
// its end, and the resources that all of them used. Used by ActiveRun.
//
// A worker ends once its `done` is acknowledged and never sends it again. So the message is written
// to disk first, and while that fails (a full disk) nothing is acknowledged. Threads: one owner
// (the controller's). Failure: logged once, retried.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "backend/core/clock.h"
#include "backend/rank/rank_line.h"
#include "backend/text/json.h"
#include "daemon/agent/run/receipts.h"
#include "daemon/agent/run/run_directory.h"
#include "daemon/agent/run/run_health.h"
#include "daemon/agent/run/verdict.h"
#include "daemon/agent/run/workplace.h"

namespace millrace::agent {

/// The steps that an attempt's ranks may take.
struct AttemptExtent {
    int ranks = 1;
    std::int64_t resumeStep = 0, epochs = 1;
    std::int64_t maxSteps = 0;  ///< 0: until the stream ends
    bool isAdopted = false;     ///< an earlier daemon started it
};

class DoneWords {
 public:
    /// Both outlive it.
    DoneWords(const RunDirectory& directory, const Clock& clock)
        : directory_(directory), clock_(clock), words_(Json::object()) {}

    /// Starts another attempt: no worker has sent anything.
    void begin(int attempt);
    /// Reads what an earlier daemon wrote for the attempt.
    void read(int attempt);
    void say(const std::string& worker, const rank::Done& done);
    /// Takes a part of the receipt: from the feed, what data workers did in this attempt so far;
    /// from rank 0 of a script, before its error, where the steps that ended end.
    void account(const std::string& worker, const Json& receipt);
    /// Call when the attempt is over: takes what its ranks, feed and relays used, as their
    /// guardians report.
    void cost(const engines::State& gang);
    /// Retries each second to write what is not on disk. Returns whether everything is.
    bool retry();
    /// Whether a message is not on disk yet.
    bool isUnwritten() const { return retryNs_ != 0; }

    /// The ranks that sent `done`.
    std::set<std::int64_t> ranks() const;
    /// AttemptReports::idleRanks: ranks whose own messages show it, and ranks that reported no
    /// step.
    std::set<std::int64_t> idleRanks(const AttemptExtent& extent, const RunHealth& health) const;
    /// Returns the rank that was done at the earliest step, with that step, if it is before the
    /// stream's end.
    std::optional<std::pair<std::int64_t, std::int64_t>> leftEarly(
        const AttemptExtent& extent) const;
    /// Returns a rank that ended with code 0 and either sent no `done` or is `idle`, while another
    /// rank lives: the attempt cannot finish.
    std::optional<std::int64_t> leftBy(const std::optional<engines::State>& gang,
                                       const std::set<std::int64_t>& idle) const;
    /// Call when the daemon ends the attempt: marks the living ranks that sent `done` as ended by
    /// it.
    void cut(const engines::State& gang);
    /// The names of the ranks that cut() marked.
    std::set<std::string> cutRanks() const;
    bool hasRank0() const { return words_.contains("rank0"); }
    /// The step at which rank 0 was done; larger than any step if it is not done.
    std::int64_t stepOfRank0() const;
    /// The smallest step at which a rank was done; 0: none is.
    std::int64_t stepOfAll() const;
    /// The reason that rank 0 gave for being done, or that ranks were done at different steps; "":
    /// neither.
    std::string reason() const;
    /// Fills in states, rows and hashes for the receipt of `ranks` ranks, up to the step that all
    /// of them have ended. Also fills in what data workers did and what the other workers used in
    /// all attempts up to this one.
    void fill(int ranks, ReceiptInputs& inputs) const;

 private:
    void write();
    std::map<std::int64_t, std::int64_t> ranksByStep() const;
    Json dataWorkers() const;
    Json costs() const;

    const RunDirectory& directory_;
    const Clock& clock_;
    int attempt_ = 0;
    Json words_;                // worker -> its message
    std::int64_t retryNs_ = 0;  // > 0: not on disk
};

/// Makes the run's receipt and stores it. Also OK without a receipt: if nothing was committed, or
/// without a stream.
Status storeReceipt(runs::RunStore& store, const std::string& id, ReceiptInputs inputs);

/// Adds the last log lines of a gang's workers, from their logs or the engine, to `facts`, which
/// has their errors.
void addLastWords(const Workplace& place, const std::string& run, const engines::State& gang,
                  AttemptReports& facts);

}  // namespace millrace::agent

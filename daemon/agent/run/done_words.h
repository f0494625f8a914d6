#pragma once
// DoneWords: what workers of the present attempt said when they were done, its feed meanwhile, and
// what all of them took.
//
// A worker whose `done` is acknowledged ends and never says it again: the word is on disk first,
// and until it is (a full disk) nothing is acknowledged. Threads: one owner (the controller's).
// Failure: logged once, tried again.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "backend/core/clock.h"
#include "backend/core/json.h"
#include "backend/rank/rank_line.h"
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
    std::int64_t maxSteps = 0;  ///< 0: as many as the stream has
    bool isAdopted = false;     ///< nobody here heard how it began
};

class DoneWords {
 public:
    /// Both outlive it.
    DoneWords(const RunDirectory& directory, const Clock& clock)
        : directory_(directory), clock_(clock), words_(Json::object()) {}

    /// Another attempt: nobody has said anything.
    void begin(int attempt);
    /// An attempt of an earlier daemon's.
    void read(int attempt);
    void say(const std::string& worker, const rank::Done& done);
    /// Of a part of the receipt: what data workers did in this attempt so far, where its feed says
    /// it; where the steps that ended end, where rank 0 of a script says it before its error.
    void account(const std::string& worker, const Json& receipt);
    /// The attempt is over: what its ranks, feed and relays took, as their guardians tell.
    void cost(const engines::State& gang);
    /// Tries again, each second, what could not be written. Whether all is on disk.
    bool retry();
    /// Something said is not on disk yet.
    bool isUnwritten() const { return retryNs_ != 0; }

    /// That said so.
    std::set<std::int64_t> ranks() const;
    /// AttemptFacts::idleRanks: by their own words, or because nothing else was heard of them.
    std::set<std::int64_t> idleRanks(const AttemptExtent& extent, const RunHealth& health) const;
    /// The rank that said so first in the stream, and its step, where that is before the stream's
    /// end.
    std::optional<std::pair<std::int64_t, std::int64_t>> leftEarly(
        const AttemptExtent& extent) const;
    /// A rank that has ended well and has not said so, or is `idle`, while another one lives: the
    /// attempt will not be finished.
    std::optional<std::int64_t> leftBy(const std::optional<engines::State>& gang,
                                       const std::set<std::int64_t>& idle) const;
    /// The daemon ends the attempt: of the living ones, those that said so are ended although they
    /// were done.
    void cut(const engines::State& gang);
    /// The names of these.
    std::set<std::string> cutRanks() const;
    bool hasRank0() const { return words_.contains("rank0"); }
    /// The step that rank 0 was done at; greater than any while it has not said so.
    std::int64_t stepOfRank0() const;
    /// The least step that a rank was done at; 0: none has said so.
    std::int64_t stepOfAll() const;
    /// Why rank 0 was done, as it said, or that ranks were done at different steps; "": neither.
    std::string reason() const;
    /// States, rows and hashes for the receipt, of `ranks` ranks, up to the step that all of them
    /// have ended; what data workers did and what
    /// the others took in all attempts up to this one.
    void fill(int ranks, ReceiptInputs& inputs) const;

 private:
    void write();
    std::map<std::int64_t, std::int64_t> ranksByStep() const;
    Json dataWorkers() const;
    Json costs() const;

    const RunDirectory& directory_;
    const Clock& clock_;
    int attempt_ = 0;
    Json words_;                // worker -> what it said
    std::int64_t retryNs_ = 0;  // > 0: not on disk
};

/// Makes the run's receipt and stores it. OK without one, too: when nothing was committed, or
/// there was no stream.
Status storeReceipt(runs::RunStore& store, const std::string& id, ReceiptInputs inputs);

/// The last words of a gang's workers, which their logs or the engine have, into `facts` with its
/// errors.
void addLastWords(const Workplace& place, const std::string& run, const engines::State& gang,
                  AttemptFacts& facts);

}  // namespace millrace::agent

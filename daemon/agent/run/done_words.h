#pragma once
// DoneWords: what workers of the present attempt said when they were done, its feed meanwhile, and
// what all of them took.
//
// A worker whose `done` is acknowledged ends and never says it again: the word is on disk first,
// and until it is (a full disk) nothing is acknowledged. Threads: one owner (the controller's).
// Failure: logged once, tried again.
#include <cstdint>
#include <set>
#include <string>

#include "backend/core/clock.h"
#include "backend/core/json.h"
#include "backend/rank/rank_line.h"
#include "daemon/agent/run/receipts.h"
#include "daemon/agent/run/run_directory.h"
#include "daemon/agent/run/verdict.h"
#include "daemon/agent/run/workplace.h"

namespace millrace::agent {

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
    /// it.
    void account(const std::string& worker, const Json& receipt);
    /// The attempt is over: what its ranks, feed and relays took, as their guardians tell.
    void cost(const engines::State& gang);
    /// Tries again what could not be written. True when all is on disk now and was not before.
    bool retry();
    /// Something said is not on disk yet.
    bool isUnwritten() const { return retryNs_ != 0; }

    /// That said so.
    std::set<std::int64_t> ranks() const;
    /// Of those the ones that have begun no step behind `resumeStep`, although there were some: the
    /// stream has `epochs`, and the run `maxSteps` (0: as many as the stream has).
    std::set<std::int64_t> idleRanks(std::int64_t resumeStep, std::int64_t epochs,
                                     std::int64_t maxSteps) const;
    bool hasRank0() const { return words_.contains("rank0"); }
    /// The step that rank 0 was done at; greater than any while it has not said so.
    std::int64_t stepOfRank0() const;
    /// Why rank 0 was done, as it said; "": it did not.
    std::string reason() const;
    /// States, rows and hashes for the receipt, of `ranks` ranks; what data workers did and what
    /// the others took in all attempts up to this one.
    void fill(int ranks, ReceiptInputs& inputs) const;

 private:
    void write();
    Json dataWorkers() const;
    Json costs() const;

    const RunDirectory& directory_;
    const Clock& clock_;
    int attempt_ = 0;
    Json words_;                // worker -> what it said
    std::int64_t retryNs_ = 0;  // > 0: not on disk
};

/// The last words of a gang's workers, which their logs or the engine have, into `facts` with its
/// errors.
void addLastWords(const Workplace& place, const std::string& run, const engines::JobId& job,
                  const engines::State& gang, AttemptFacts& facts);

}  // namespace millrace::agent

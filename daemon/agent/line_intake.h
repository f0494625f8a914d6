#pragma once
// LineIntake: workers' lines on their way into the store; acknowledged only after the commit.
//
// The lines of a run's workers go in together, in one transaction. Each run is on its own: what the
// store cannot take of one run holds back that run alone, which is tried again later and later (a
// full disk, a disk that fails). A line that will never go in is found by halving its batch and
// kept in the store's quarantine, so that those behind it go on. Threads: one owner (the
// controller's thread). Bounded by lines and bytes: beyond that a worker is told that there is no
// room, and sends again later. Failure: trouble() says what is wrong.
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/core/clock.h"
#include "backend/rank/rank_line.h"
#include "backend/rank/rank_server.h"
#include "backend/runs/run_store.h"
#include "daemon/agent/run/committed_line.h"

namespace millrace::agent {

struct IntakeReport {
    std::vector<CommittedLine> committed;
    std::vector<AckOrder> acks;  ///< to be sent after `committed` has been dealt with
    bool hasStoredOwn = false;   ///< lines of the daemon's own, with the workers' or alone
    bool hasStored() const { return hasStoredOwn || !committed.empty(); }
};

/// About how much memory a line takes.
std::size_t bytesOf(const rank::RankLine& line);

class LineIntake {
 public:
    static constexpr std::size_t kMaxPending = 20'000;                ///< lines of one worker
    static constexpr std::size_t kMaxWorkerBytes = 16U << 20;         ///< of one worker
    static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;  ///< of all

    LineIntake(runs::RunStore& store, const Clock& clock) : store_(store), clock_(clock) {}

    /// False: no room, drop the connection. `hasFile`: of a checkpoint; one whose file is on
    /// another node is stored when it comes, the line alone does not make it count.
    bool add(rank::ConnectionId connection, const rank::Sender& sender, rank::RankLine line,
             bool hasFile = true);
    /// Lines of the daemon's own. They are stored with the next lines of the run, or alone when
    /// others come first; only a full disk makes it lose one.
    void addOwn(const std::string& runId, int attempt, std::vector<runs::ReportedLine> lines);
    bool isEmpty() const;
    bool isEmpty(const std::string& runId) const;
    /// Commits what is there, but for runs that failed a moment ago.
    IntakeReport flush();
    /// What is wrong now, a sentence; empty when all is well.
    std::string trouble() const;
    /// The same of one run; also what has been put into its quarantine since the daemon started.
    std::string trouble(const std::string& runId) const;
    /// Drops what waits for a run (it has ended).
    void forget(const std::string& runId);

 private:
    struct Worker {
        int doorAttempt = 1;
        int rank = values::kNoRank;  // kNoRank: a feed
        rank::ConnectionId connection = 0;
        std::deque<rank::RankLine> lines;
        std::set<std::uint64_t> withoutFile;  // seqs of those of `lines`
        std::size_t bytes = 0;
    };
    using WorkerKey = std::pair<int, std::string>;  // attempt of the lines, worker
    struct Run {
        std::string id;
        std::map<WorkerKey, Worker> workers;
        int ownAttempt = 1;
        std::vector<runs::ReportedLine> own;
        std::int64_t retryAtNs = 0, backoffNs = 0;
        std::string trouble;  // why it waits
        std::string note;     // what was left out or put aside
    };
    /// One worker's turn: how much halving it may still cost.
    struct Turn {
        Run& run;
        const WorkerKey& key;
        Worker& worker;
        IntakeReport& report;
        int singlesLeft;
    };

    bool flushRun(Run& run, IntakeReport& report);
    bool flushTogether(Run& run, IntakeReport& report);
    bool flushOwn(Run& run);
    bool flushSome(Turn& turn, std::size_t count, bool withOwn);
    bool putAside(Turn& turn, std::size_t count, const Status& why);
    void take(Turn& turn, std::size_t count, const runs::LineCommit& commit);
    bool waits(Run& run, const Status& status);
    runs::LineBatch batchOf(const Turn& turn, std::size_t count) const;

    runs::RunStore& store_;
    const Clock& clock_;
    std::map<std::string, Run> runs_;
    std::size_t bytes_ = 0;
};

}  // namespace millrace::agent

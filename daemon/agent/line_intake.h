#pragma once
// LineIntake: workers' lines on their way into the store; acknowledged only after the commit.
//
// Threads: one owner (the controller's thread). Bounded: beyond kMaxPending lines of a worker it
// has no room, and the worker sends again later. Failure: a store that cannot commit (full disk)
// keeps the lines waiting; trouble() says so, and the runs go on unacknowledged.
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "backend/core/clock.h"
#include "backend/rank/rank_line.h"
#include "backend/rank/rank_server.h"
#include "backend/runs/run_store.h"

namespace millrace::agent {

/// A line that is in the store now.
struct CommittedLine {
    std::string runId, worker;
    int attempt = 1;
    rank::RankLine line;
};

/// What to tell a worker.
struct AckOrder {
    std::string runId;
    int doorAttempt = 1;  ///< of the connection
    rank::ConnectionId connection = 0;
    std::int64_t attempt = 1;  ///< of the lines
    std::uint64_t seq = 0;
};

struct IntakeReport {
    std::vector<CommittedLine> committed;
    std::vector<AckOrder> acks;  ///< to be sent after `committed` has been dealt with
};

class LineIntake {
 public:
    static constexpr std::size_t kMaxPending = 20'000;  ///< lines of one worker

    LineIntake(runs::RunStore& store, const Clock& clock) : store_(store), clock_(clock) {}

    /// False: no room, drop the connection.
    bool add(rank::ConnectionId connection, const rank::Sender& sender, rank::RankLine line);
    /// A line of the daemon's own. It is stored with the next lines of the run, or alone when the
    /// one after it comes first; only a full disk makes it lose one.
    void addOwn(const std::string& runId, int attempt, runs::MetricLine line);
    bool isEmpty() const { return numPending_ == 0 && !isOwnDue_; }
    /// Commits what is there; nothing while the last failure is younger than a second.
    IntakeReport flush();
    /// What is wrong now, a sentence; empty when all is well.
    const std::string& trouble() const { return trouble_; }
    /// Drops what waits for a run (it has ended).
    void forget(const std::string& runId);

 private:
    struct Waiting {
        int doorAttempt = 1;
        rank::ConnectionId connection = 0;
        std::uint64_t lastSeq = 0;  // taken in or committed
        std::deque<rank::RankLine> lines;
    };
    using Key = std::tuple<std::string, int, std::string>;  // run, attempt of the lines, worker

    struct Own {
        int attempt = 1;
        std::vector<runs::MetricLine> lines;
    };

    bool flushOne(const Key& key, Waiting& waiting, IntakeReport& report);
    bool flushOwn(const std::string& runId, Own& own);
    bool hasFailed(const Status& status, const runs::LineBatch& batch);
    runs::LineBatch batchOf(const Key& key, const Waiting& waiting) const;

    runs::RunStore& store_;
    const Clock& clock_;
    std::map<Key, Waiting> waiting_;
    std::map<std::string, Own> own_;  // by run
    bool isOwnDue_ = false;
    std::size_t numPending_ = 0;
    std::string trouble_;
    std::int64_t retryAtNs_ = 0;
};

}  // namespace millrace::agent

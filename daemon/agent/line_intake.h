#pragma once
// LineIntake: collects workers' lines and commits them to the store. A line is acknowledged only
// after its commit. Used by RunController.
//
// One transaction stores the lines of all of a run's workers. Runs are independent: if the store
// cannot take a run's lines (a full disk, a disk that fails), only that run is held back, and
// retried with growing pauses. A line that the store will never take is found by halving its batch
// and left out, so that the lines after it are stored. Threads: one owner (the controller's
// thread). Bounded by lines and bytes: beyond that a line is refused, and its worker sends it again
// later. Failure: trouble() describes what is wrong.
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
    std::vector<AckOrder> acks;  ///< to be sent after `committed` has been handled
    bool hasStoredOwn = false;   ///< lines of the daemon's own were stored without workers' lines
    bool hasStored() const { return hasStoredOwn || !committed.empty(); }
};

/// Returns roughly how much memory a line takes.
std::size_t bytesOf(const rank::RankLine& line);

class LineIntake {
 public:
    static constexpr std::size_t kMaxPending = 20'000;                ///< lines of one worker
    static constexpr std::size_t kMaxWorkerBytes = 16U << 20;         ///< of one worker
    static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;  ///< of all workers

    LineIntake(runs::RunStore& store, const Clock& clock) : store_(store), clock_(clock) {}

    /// False: no room, drop the connection. `hasFile`: for a line about a checkpoint. A checkpoint
    /// with its file on another node is stored when the file arrives; the line alone does not
    /// count.
    bool add(rank::ConnectionId connection, const rank::Sender& sender, rank::RankLine line,
             bool hasFile = true);
    /// Adds lines of the daemon's own. They are stored with the next lines of the run, or alone if
    /// other lines of its own come first. Such lines are lost only while the disk is full.
    void addOwn(const std::string& runId, int attempt, std::vector<runs::ReportedLine> lines);
    bool isEmpty() const;
    bool isEmpty(const std::string& runId) const;
    /// Commits all lines except those of runs whose retry is not due yet.
    IntakeReport flush();
    /// Returns what is wrong now, as a sentence; empty if nothing is.
    std::string trouble() const;
    /// The same for one run; it also reports what was left out since the daemon started.
    std::string trouble(const std::string& runId) const;
    /// Drops the lines that wait for a run (it has ended), and stores the daemon's own: `last` and
    /// those before.
    void forget(const std::string& runId, int attempt = 0,
                std::vector<runs::ReportedLine> last = {});

 private:
    struct Worker {
        int doorAttempt = 1;
        int rank = values::kNoRank;  // kNoRank: a feed
        rank::ConnectionId connection = 0;
        std::deque<rank::RankLine> lines;
        std::set<std::uint64_t> withoutFile;  // sequence numbers of `lines` without a file
        std::size_t bytes = 0;
    };
    using WorkerKey = std::pair<int, std::string>;  // attempt of the lines, worker
    struct Run {
        std::string id;
        std::map<WorkerKey, Worker> workers;
        int ownAttempt = 1;
        std::vector<runs::ReportedLine> own;
        std::int64_t retryAtNs = 0, backoffNs = 0;
        std::string trouble;  // why its lines wait
        std::string note;     // what was left out
    };
    /// One worker's lines in one flush, and how many lines halving may still leave out.
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
    bool leaveOut(Turn& turn, std::size_t count, const Status& why);
    void take(Turn& turn, std::size_t count, const runs::LineCommit& commit);
    bool waits(Run& run, const Status& status);
    runs::LineBatch batchOf(const Turn& turn, std::size_t count) const;

    runs::RunStore& store_;
    const Clock& clock_;
    std::map<std::string, Run> runs_;
    std::size_t bytes_ = 0;
};

}  // namespace millrace::agent

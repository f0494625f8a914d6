#pragma once
// Rank: the model of a script's rank. It takes steps together with all ranks of its attempt,
// reports them in lines of the rank protocol, and obeys a stop as the C library does.
//
// Its report of a step depends only on the step, so that the run's metrics can be checked.
// Threads: one.
#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/rank/rank_line.h"
#include "tests/sim/machine.h"

namespace millrace::sim {

/// A rank's connection to its attempt's door.
struct RankConnection {
    std::int64_t id = 0;
    rank::Sender sender;
    std::shared_ptr<Wire> wire;
    bool isOpen = true;          ///< from the rank's view
    class Rank* rank = nullptr;  ///< null: the rank is gone
};

class Rank final : public Worker {
 public:
    Rank(Cluster& cluster, Machine& machine, const std::string& gang, engines::WorkerState state);
    void begin() override;
    void end(int code) override;
    void terminate() override;

    // Messages from the door.
    void acked(std::int64_t attempt, std::uint64_t seq);
    void told(const rank::Stop& how);
    void closed();

    const std::string& run() const { return run_; }
    int attempt() const { return attempt_; }
    std::int64_t begun() const { return begun_; }
    std::int64_t resumedFrom() const { return resumedFrom_; }
    /// Steps whose lines are neither acknowledged nor in a checkpoint.
    std::vector<std::int64_t> untold() const;
    /// The head has the rank's checkpoint of that step.
    void savedAtHead(std::int64_t step) { savedStep_ = std::max(savedStep_, step); }
    std::size_t numUnacked() const { return unacked_.size(); }
    /// Whether the store has a line of the rank.
    bool wasAcked() const { return wasAcked_; }
    /// Whether it has ended its last step.
    bool isLeaving() const { return isLeaving_; }
    /// Ends the rank with an error, which it reports.
    void fail();
    /// The rank does nothing for a while, and ignores stops.
    void hang(std::int64_t ns) { hangsUntilNs_ = life.nowNs() + ns; }

 private:
    void connect();
    void say(rank::Body body);
    void send(const rank::RankLine& line);
    void nextStep();
    enum class Meets { kYes, kNotYet, kNever };
    Meets meets() const;
    void meet();
    void endStep();
    /// Whether the rank can see the head's directory of checkpoints.
    bool seesHead() const;
    /// Writes a checkpoint, retries while the disk fails, then calls `then`.
    void checkpoint(std::function<void()> then);
    void ending();
    void leave();
    std::string stateText() const;
    const struct Terms& terms() const;

    std::string run_;
    int attempt_ = 1;
    std::int64_t resumedFrom_ = 0, begun_ = 0, ended_ = 0;
    std::uint64_t seq_ = 0;
    std::deque<rank::RankLine> unacked_;
    bool wasAcked_ = false, isLeaving_ = false;
    std::int64_t savedStep_ = 0;  ///< step of its last checkpoint that the head has
    std::shared_ptr<RankConnection> connection_;
    std::int64_t backoffNs_ = 20 * kMs, hangsUntilNs_ = 0;
};

/// The shared page of an attempt's ranks on one machine.
struct Page {
    std::int64_t furthest = 0, last = -1;  ///< last: the step after which they stop; -1: none
    bool isHeld = false;
};

constexpr std::int64_t kRowsPerStep = 64;
double lossOf(std::int64_t step);

}  // namespace millrace::sim

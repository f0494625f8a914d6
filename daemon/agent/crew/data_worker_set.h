#pragma once
// DataWorkerSet: the data workers of an attempt on all nodes. It keeps as many as are wanted and
// replaces those that are lost. Used by ActiveRun.
//
// Each worker is a gang of its own beside the attempt's, so that starting and ending one touches
// neither the ranks nor the feed. Workers are spread over the nodes beside the head's, by how many
// each has for its cores. Without such nodes they run on the head's machine, beside the feed. Nodes
// with ranks get a worker of their own (WorkerBeside), which counts among them. A worker on a
// node's spare cores reserves nothing: when another run reserves these cores, it leaves, and a
// worker with fewer threads replaces it. A worker whose process ends is restarted on its node; a
// worker whose node is lost is replaced on another node. crew.json of the attempt records each
// worker's node before the node is asked for it. Threads: the controller's only. Failure: no
// failure here ends the run, which continues without the workers.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/clock.h"
#include "backend/job/attempt_paths.h"
#include "daemon/agent/crew/nodes.h"

namespace millrace::agent {

/// The parts that a crew works with; everything here outlives it.
struct DataWorkerSetOptions {
    const Clock& clock;
    Nodes& nodes;
    std::int64_t paceNs = 5'000'000'000;  ///< shortest time between two changes of the number
};

class DataWorkerSet {
 public:
    /// `least`, `most`: the number of workers that the spec allows.
    DataWorkerSet(DataWorkerSetOptions place, std::string run, int least, int most);

    /// Call when the attempt's gang exists: starts its workers, or finds those of an earlier
    /// daemon. `beside`: they count as workers, and are not limited by `least` and `most`.
    void begin(const job::AttemptPaths& paths, int attempt, std::vector<WorkerBeside> beside = {});
    /// Takes a worker's metrics. The feed reports in them how many workers would keep the ranks
    /// from waiting. Workers beyond `least` start on other nodes only, because the feed's own
    /// threads use the head's.
    void advise(const std::map<std::string, double>& metrics);
    /// Follows the workers; returns sentences for the run's history. `isWanted` false: starts no
    /// more workers, for the rest of the attempt, and ends those that there are.
    std::vector<std::string> tick(bool isWanted);
    /// Returns whether no worker is left, as far as can be known, or their time to end is over.
    bool isOver() const;
    /// Returns the attempt's gang with its data workers, by number.
    engines::State with(const std::optional<engines::State>& gang) const;

 private:
    struct Member {
        DataWorkerName name;
        std::string node;
        std::string joinFile;  ///< that it was placed with; "": not placed yet
        int threads = 0;       ///< of a worker beside ranks; 0: it is not beside ranks
        bool isLeaving = false;
        engines::State state;
        bool isOver() const { return !engines::isLiving(state); }
    };

    void read();
    void end();
    Status save() const;
    int target();
    int numStaying() const;
    int numBeside() const;
    /// Nodes beside the head's own that are connected or may come back.
    std::vector<NodeStatus> candidates() const;
    /// Returns the node's standing, read once per tick.
    const NodeStatus& standing(const std::string& node);
    void add(int count, std::vector<std::string>& news);
    Member makeMember(const std::string& node);
    void keep(std::vector<Member> added, std::vector<std::string>& news);
    void borrow(const Member& member) const;
    void keepBeside(std::vector<std::string>& news);
    void release(Member& member, const std::string& why);
    void leaveNode(Member& member, std::vector<std::string>& news);
    void place(Member& member, const std::string& joinFile);
    void look(Member& member);
    void follow(std::vector<std::string>& news);
    bool isLost(const Member& member, std::vector<std::string>& news);
    void meetTarget(std::vector<std::string>& news);

    const DataWorkerSetOptions place_;
    const std::string run_;
    const int least_, most_;
    job::AttemptPaths paths_{""};
    int attempt_ = 0;
    int next_ = 0;  ///< number of the next worker
    std::vector<WorkerBeside> beside_;
    std::vector<Member> members_;
    std::map<std::string, NodeStatus> standings_;  ///< of this tick, by node
    double wanted_ = 0;
    std::int64_t changedNs_ = 0;  ///< when the number was last changed
    int numFailed_ = 0;           ///< workers replaced because they failed
    bool isEnding_ = true;        ///< no workers are started: before begin(), after end()
    std::int64_t endedNs_ = 0;    ///< when end() was called
};

}  // namespace millrace::agent

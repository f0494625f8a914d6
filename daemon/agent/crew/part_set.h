#pragma once
// PartSet: the parts of an attempt, from the choice of their nodes to the end of the last worker.
// Used by ActiveRun.
//
// Each part is a gang on its node; the head's machine is one of the nodes. The first failure of any
// part is the attempt's failure, and the attempt ends when all parts have ended. parts.json of the
// attempt records the node of each part before a node is asked to start it, so that the next daemon
// finds them; parts that are not in it are on the head's machine. When a node is lost, its part
// counts as ended, and is ended there when the node returns. Threads: the controller's only.
// Failure: begin() returns why the attempt cannot be placed; state() returns what happens to the
// parts later.
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/core/clock.h"
#include "backend/job/attempt_paths.h"
#include "daemon/agent/crew/gang.h"
#include "daemon/agent/crew/nodes.h"

namespace millrace::agent {

/// The parts that such a crew works with; everything here outlives it.
struct PartSetOptions {
    const Clock& clock;
    Nodes& nodes;
    int ranksPerNode = 1;
    std::vector<schedule::Part> parts;  ///< where the parts go, and what they take
    /// Makes a part for `node`, without its join file and its probe. `masterPort`: where the ranks
    /// meet; `needs`: not more than the node has.
    std::function<Result<Placement>(const PartName& name, const std::string& node, int masterPort,
                                    const schedule::Resources& needs)>
        make;
};

class PartSet {
 public:
    /// `numNodes`: number of nodes that train, with part 0's.
    PartSet(PartSetOptions place, std::string run, int numNodes)
        : place_(std::move(place)), run_(std::move(run)), numNodes_(numNodes) {}

    /// Returns whether an earlier daemon placed part 0 of the attempt. Reserves the nodes that it
    /// wrote down. An error: not known; the part may live.
    Result<bool> find(const job::RunPaths& paths, int attempt);
    /// Chooses the nodes of the attempt, or reads an earlier choice, and reserves them.
    /// kUnavailable: too few resources are free, or too few nodes are ready. Another error: the
    /// places of its parts cannot be read; they may live there.
    Status begin(const job::RunPaths& paths, int attempt);
    /// Places part 0 on its node. Returns the errors of Nodes::place.
    Status placeLead();
    /// Returns whether begin() failed because too few nodes are free: retry when a node attaches.
    bool lacksNodes() const { return lacksNodes_; }
    /// Returns whether its nodes' resources are reserved.
    bool isHolding() const { return isHolding_; }

    /// Returns how the nodes of the other parts reach that of part 0.
    Rendezvous rendezvous() const;
    /// Returns why part 0 is not on its node yet, as reported by the node; "": it is.
    std::string waiting() const;
    /// The node of part 0, after begin(); "": the head's machine.
    const std::string& node() const { return lead().node; }
    /// The node of each part, after begin().
    std::vector<std::string> nodes() const;
    const job::AttemptPaths& paths() const { return paths_; }
    /// Returns whether part 0 is on the head's machine.
    bool isHere() const { return !parts_.empty() && lead().node.empty(); }

    /// Follows the parts, and places the parts from 1 on once the feed listens. Returns sentences
    /// for the run's history.
    std::vector<std::string> tick();
    /// Ends all parts. A part ends only when the head has its checkpoints. On an error call again.
    Status end(const EndRequest& request);
    /// After end(), when a stop's grace is over: ends the wait for a checkpoint that has not
    /// arrived. Returns sentences for the run's history.
    std::vector<std::string> giveUpFiles(bool isGraceOver);
    /// The order to leave a node that has a part.
    struct Leave {
        std::string why;                  ///< a sentence
        std::chrono::milliseconds grace;  ///< until everything there is ended
    };
    /// Returns the order to leave, if there is one. Once returned it holds for this attempt, also
    /// for the next daemon, because ranks that were held for it wait for an answer.
    std::optional<Leave> leave();
    /// Returns whether this attempt was asked to leave, by this daemon or an earlier one.
    bool isLeft() const { return leave_.has_value(); }
    /// Returns whether a part other than 0 failed or is lost. Its node ends such a part by itself;
    /// the attempt must end.
    bool hasFailed() const;
    /// Returns whether nothing has been reported yet of a part that is not over: its ranks may
    /// live.
    bool isAwaited() const;
    /// Returns the workers on nodes that are away but not lost: they cannot report.
    std::set<std::string> unreached() const;
    /// Returns why a part's node that is away does not count as lost yet, as a sentence; "": there
    /// is no such node.
    std::string held() const;
    /// Returns the state of the whole attempt: all its workers, and the first failure of all parts.
    engines::State state() const;

 private:
    struct Part {
        PartName name;
        std::string node;
        bool isNews = false;             ///< placed here, not yet in the run's history
        std::string joinFile;            ///< that it was placed with; "": not placed yet
        std::int64_t lostMs = 0;         ///< when the node was last heard from; 0: it is not lost
        std::optional<int> numReplaced;  ///< feeds or relays that were replaced, as far as reported
        engines::State state;
        bool isOver() const { return lostMs != 0 || !engines::isLiving(state); }
    };
    struct Failure {
        std::int64_t timeMs = 0;
        bool isKilled = false;  ///< by SIGKILL from outside
        engines::State state;
    };

    Status recall(const job::RunPaths& paths, int attempt);
    void hold();
    Status read();
    Status choose();
    Status save() const;
    Part partOn(int part, const std::string& node) const;
    schedule::Resources needsOf(const Part& part) const;
    Result<Placement> placementOf(const Part& part, int masterPort) const;
    std::string leaveFile() const { return paths_.directory() + "/leave.json"; }
    std::optional<Leave> readLeave() const;
    std::optional<Leave> findLeave() const;
    std::vector<std::string> workersOf(const Part& part) const;
    void look(Part& part, std::vector<std::string>& news);
    void noteReplaced(Part& part, std::vector<std::string>& news) const;
    void tellPlaced(Part& part, std::vector<std::string>& news) const;
    void place(Part& part, const std::string& joinFile, std::vector<std::string>& news);
    void endOthers(const EndRequest& request);
    const Part& lead() const { return parts_.front(); }
    bool areOver() const;
    std::optional<Failure> failureOf(const Part& part) const;
    std::optional<Failure> firstFailure() const;

    const PartSetOptions place_;
    const std::string run_;
    const int numNodes_;
    job::AttemptPaths paths_{""};
    std::string probePath_;  ///< "": nodes do not see the checkpoints
    int attempt_ = 0;
    std::vector<Part> parts_;  ///< by number; empty: their places are not known yet
    std::optional<Leave> leave_;
    bool lacksNodes_ = false, isHolding_ = false, isEnding_ = false, areFilesGivenUp_ = false;
    std::int64_t doneNs_ = 0;  ///< when part 0 ended well, steady; 0: not yet
};

}  // namespace millrace::agent

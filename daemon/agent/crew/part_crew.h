#pragma once
// PartCrew: the parts of an attempt, from the choice of their nodes to the end of the last worker.
//
// Each part is a gang on its node; the head's machine is one of the nodes. The first failure of any
// part is the attempt's failure, and the attempt ends when all parts have ended. parts.json of the
// attempt records the node of each part before a node is asked to start it, so that the next daemon
// finds them; parts that it does not name are on the head's machine. When a node is lost, its part
// counts as ended, and is ended there when the node returns.
// Threads: the controller's only. Failure: begin() says why the attempt cannot be placed; what
// happens to parts later is told by state().
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

/// What a crew of parts works with; all of it outlives it.
struct PartCrewPlace {
    const Clock& clock;
    Nodes& nodes;
    int ranksPerNode = 1;
    std::vector<schedule::Part> parts;  ///< where they go, and what they take
    /// A part without its join file and its probe, for `node`. `masterPort`: where the ranks meet;
    /// `needs`: at most what the node has.
    std::function<Result<Placement>(const PartName& name, const std::string& node, int masterPort,
                                    const schedule::Resources& needs)>
        make;
};

class PartCrew {
 public:
    /// `numNodes`: that train, that of part 0 too.
    PartCrew(PartCrewPlace place, std::string run, int numNodes)
        : place_(std::move(place)), run_(std::move(run)), numNodes_(numNodes) {}

    /// Whether part 0 of an attempt that an earlier daemon may have placed was placed. Its nodes
    /// are kept for it where that daemon wrote them down. An error: not known, it may live.
    Result<bool> find(const job::RunPaths& paths, int attempt);
    /// The attempt is to be placed: its nodes are chosen, or found again, and kept for it.
    /// kUnavailable: too little is free, or too few nodes are ready. Another error: where its parts
    /// are cannot be read; they may live there.
    Status begin(const job::RunPaths& paths, int attempt);
    /// Part 0 is to be on its node. An error: as of Nodes::place.
    Status placeLead();
    /// Returns whether begin() failed because too few nodes are free: retry when a node attaches.
    bool lacksNodes() const { return lacksNodes_; }
    /// Whether its nodes' resources are reserved.
    bool isHolding() const { return isHolding_; }

    /// How the nodes of the other parts reach that of part 0.
    Meeting meeting() const;
    /// Why part 0 is not there yet, by its node; "": it is.
    std::string waiting() const;
    /// The node of part 0, after begin(); "": the head's machine.
    const std::string& node() const { return lead().node; }
    /// Part 0 is on the head's machine.
    bool isHere() const { return !parts_.empty() && lead().node.empty(); }

    /// Follows the parts, and places parts 1.. once the feed listens. Returns sentences for the
    /// run's history.
    std::vector<std::string> tick();
    /// Ends all parts. A part ends only when the head has its checkpoints. On an error call again.
    Status end(const EndWish& wish);
    /// After end(), when a stop's grace is over: ends the wait for a checkpoint that has not
    /// arrived. Returns sentences for the run's history.
    std::vector<std::string> giveUpFiles(bool isGraceOver);
    /// A node with a part is to be left.
    struct Leave {
        std::string why;                  ///< a sentence
        std::chrono::milliseconds grace;  ///< until what is there is ended
    };
    /// Once it was told it holds for this attempt, also for the next daemon: ranks that were held
    /// for it wait for a word.
    std::optional<Leave> leave();
    /// Returns whether this attempt was asked to leave, by this daemon or an earlier one.
    bool isLeft() const { return leave_.has_value(); }
    /// A part beside part 0, whose node ends it by itself, failed or is lost: the attempt is to
    /// end.
    bool hasFailed() const;
    /// Whether nothing is known yet of a part that is not over: its ranks may live.
    bool isAwaited() const;
    /// Workers on nodes that are away, and not lost: nothing can be heard of them.
    std::set<std::string> unreached() const;
    /// Why a part's node that is away is not yet lost, as a sentence; "": no such node.
    std::string held() const;
    /// The whole attempt: all its workers, and the first failure of all.
    engines::State state() const;

 private:
    struct Part {
        PartName name;
        std::string node;
        bool isNews = false;             ///< placed here, and the run's history does not say so yet
        std::string joinFile;            ///< that it was placed with; "": not yet
        std::int64_t lostMs = 0;         ///< when the node was heard of last; 0: it is not lost
        std::optional<int> numReplaced;  ///< feeds or relays before the present one, as far as told
        engines::State state;
        bool isOver() const { return lostMs != 0 || !engines::isLiving(state); }
    };
    struct Failure {
        std::int64_t timeMs = 0;
        bool isKilled = false;  ///< from outside
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
    void endOthers(const EndWish& wish);
    const Part& lead() const { return parts_.front(); }
    bool areOver() const;
    std::optional<Failure> failureOf(const Part& part) const;
    std::optional<Failure> firstFailure() const;

    const PartCrewPlace place_;
    const std::string run_;
    const int numNodes_;
    job::AttemptPaths paths_{""};
    std::string probePath_;  ///< "": nodes do not see the checkpoints
    int attempt_ = 0;
    std::vector<Part> parts_;  ///< by number; none: it is not known yet what is where
    std::optional<Leave> leave_;
    bool lacksNodes_ = false, isHolding_ = false, isEnding_ = false, areFilesGivenUp_ = false;
    std::int64_t doneNs_ = 0;  ///< part 0 has ended well; steady, 0: not yet
};

}  // namespace millrace::agent

#pragma once
// PartCrew: the parts of an attempt on nodes, from the choice of the nodes to the end of the last
// worker there.
//
// Part 0, with the feed that leads, is on the head's machine or, where that does not train, on a
// node as the others; each part is a gang of its own. They are one attempt all the same: the first
// failure anywhere is the attempt's, and it is over when nothing of it is left anywhere that can be
// known. Which part is where stands in parts.json of the attempt before anything is asked of a
// node, so that the next daemon finds them. A node that has been away for too long is lost: its
// part counts as ended, and is ended when it comes back.
// Threads: the controller's only. Failure: begin() says why the attempt cannot be placed; what
// happens to parts later is told by with().
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/core/clock.h"
#include "backend/job/attempt_paths.h"
#include "daemon/agent/crew/nodes.h"

namespace millrace::agent {

/// What a crew of parts works with; all of it outlives it.
struct PartCrewPlace {
    const Clock& clock;
    Nodes* nodes = nullptr;  ///< null: there is none but the head's machine
    bool trainsHere = true;  ///< part 0 of a new attempt is on the head's machine
    int ranksPerNode = 1;
    /// What a part takes of its node.
    std::function<schedule::Resources(int part)> needs;
    /// A part without its join file and its probe. `masterPort`: where the ranks meet; `needs`:
    /// what it takes of its node, which has so much.
    std::function<Result<Placement>(const PartName& name, int masterPort,
                                    const schedule::Resources& needs)>
        make;
};

class PartCrew {
 public:
    /// `numNodes`: that train, that of part 0 too.
    PartCrew(PartCrewPlace place, std::string run, int numNodes)
        : place_(std::move(place)), run_(std::move(run)), numNodes_(numNodes) {}

    /// An attempt that an earlier daemon may have placed: its nodes are found again, if it chose
    /// any. An error: where the parts are cannot be read; they may live there.
    Status recall(const job::RunPaths& paths, int attempt);
    /// The attempt is to be placed: its nodes are chosen, or found again, and kept for it.
    /// kUnavailable: too few nodes are ready. Another error: as of recall().
    Status begin(const job::RunPaths& paths, int attempt);

    /// The node of part 0; "": the head's machine.
    std::string leadNode() const { return lead_.has_value() ? lead_->node : ""; }
    /// Where other nodes reach it; "": all are one machine.
    std::string leadAddress() const;
    /// Part 0 is to be on its node.
    Status placeLead();
    /// Whether part 0 is, or may be, on its node. kUnavailable: not known before the node comes.
    Result<bool> findLead() const;
    /// How part 0 stands on its node. `news`: sentences for the run's history.
    engines::State lookAtLead(std::vector<std::string>& news);

    /// What happened since, sentences for the run's history. `gang`: part 0, as its engine or its
    /// node tells it. The other parts are placed once its feed listens.
    std::vector<std::string> tick(const std::optional<engines::State>& gang);
    /// All parts are to end.
    void end();
    /// A node with a part is to be left.
    struct Leave {
        std::string why;                  ///< a sentence
        std::chrono::milliseconds grace;  ///< until what is there is ended
    };
    /// Once it was told it holds for this attempt, also for the next daemon: ranks that were held
    /// for it wait for a word.
    std::optional<Leave> leave();
    /// A part failed, or is lost: the attempt is to end.
    bool hasFailed() const;
    /// Whether nothing is known yet of a part that is not over: its ranks may live.
    bool isAwaited() const;
    /// Workers on nodes that are away, and not lost: nothing can be heard of them.
    std::set<std::string> unreached() const;
    /// The whole attempt: `gang` with the workers of all parts, and the first failure of all.
    engines::State with(const std::optional<engines::State>& gang) const;

 private:
    struct Part {
        PartName name;
        std::string node;
        std::string joinFile;     ///< that it was placed with; "": not yet
        std::int64_t lostMs = 0;  ///< when the node was heard of last; 0: it is not lost
        engines::State state;
        bool isOver() const { return lostMs != 0 || state.phase == engines::Phase::kEnded; }
    };
    struct Failure {
        std::int64_t timeMs = 0;
        bool isKilled = false;  ///< from outside
        engines::State state;
    };

    Status read();
    Status choose();
    Status save() const;
    Part partOn(int part, const std::string& node) const;
    schedule::Resources needsOf(const Part& part) const;
    void keep(const Part& part);
    std::string leaveFile() const { return paths_.directory() + "/leave.json"; }
    std::optional<Leave> readLeave() const;
    std::optional<Leave> findLeave() const;
    std::vector<std::string> workersOf(const Part& part) const;
    void look(Part& part, std::vector<std::string>& news);
    void place(Part& part, const std::string& joinFile, int masterPort,
               std::vector<std::string>& news);
    bool areOver() const;
    std::optional<Failure> failureOf(const Part& part) const;
    std::optional<Failure> firstFailure(const std::optional<engines::State>& gang) const;

    const PartCrewPlace place_;
    const std::string run_;
    const int numNodes_;
    job::AttemptPaths paths_{""};
    std::string probePath_;
    int attempt_ = 0;
    bool isChosen_ = false;     ///< of this attempt it is known what is where
    std::optional<Part> lead_;  ///< part 0, where it is on a node
    std::vector<Part> parts_;   ///< the others
    std::optional<Leave> leave_;
    bool isEnding_ = false;
    std::int64_t doneNs_ = 0;  ///< the attempt's own gang has ended well; steady, 0: not yet
};

}  // namespace millrace::agent

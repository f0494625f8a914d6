#pragma once
// PartCrew: the parts of an attempt on other nodes than the head's (train.nodes), from the choice
// of the nodes to the end of the last worker there.
//
// The attempt's own gang has the feed that leads and the ranks of node 0; each part is a gang of
// its own on its node. They are one attempt all the same: the first failure anywhere is the
// attempt's, and it is over when nothing of it is left anywhere that can be known. Which part is
// where stands in parts.json of the attempt before anything is asked of a node, so that the next
// daemon finds them. A node that has been away for too long is lost: its part counts as ended, and
// is ended when it comes back.
// Threads: the controller's only. Failure: begin() says why the attempt cannot be placed; what
// happens to parts later is told by with().
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/core/clock.h"
#include "backend/job/attempt_paths.h"
#include "daemon/agent/crew/part_nodes.h"

namespace millrace::agent {

/// What a crew of parts works with; all of it outlives it.
struct PartCrewPlace {
    const Clock& clock;
    PartNodes* nodes = nullptr;  ///< null: there is no other
    /// A part without its join file and its probe. `masterPort`: where the ranks meet.
    std::function<Result<PartPlacement>(const PartName& name, int masterPort)> make;
};

class PartCrew {
 public:
    /// `numNodes`: that train, the head's too.
    PartCrew(PartCrewPlace place, std::string run, int numNodes)
        : place_(std::move(place)), run_(std::move(run)), numParts_(numNodes - 1) {}

    /// The attempt is to be placed: its nodes are chosen, or found again, and kept for it. `needs`:
    /// of one part. kUnavailable: too few nodes are ready. Another error: where the parts are
    /// cannot be read; they may live there, so no nodes are chosen anew.
    Status begin(const job::RunPaths& paths, int attempt, const schedule::Resources& needs);
    /// What happened since, sentences for the run's history. `gang`: the attempt's own, as its
    /// engine tells it. Parts are placed once its feed listens.
    std::vector<std::string> tick(const std::optional<engines::State>& gang);
    /// All parts are to end.
    void end();
    /// A part failed, or is lost: the attempt is to end.
    bool hasFailed() const;
    /// Whether nothing is known yet of a part that is not over: its ranks may live.
    bool isAwaited() const;
    /// Workers on nodes that are away, and not lost: nothing can be heard of them.
    std::set<std::string> unreached(int ranksPerNode) const;
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

    Result<bool> read();
    Status choose(const schedule::Resources& needs);
    Status save() const;
    void look(Part& part, std::vector<std::string>& news);
    void place(Part& part, const std::string& joinFile, int masterPort,
               std::vector<std::string>& news);
    bool areOver() const;
    std::optional<Failure> failureOf(const Part& part) const;
    std::optional<Failure> firstFailure(const std::optional<engines::State>& gang) const;

    const PartCrewPlace place_;
    const std::string run_;
    const int numParts_;
    job::AttemptPaths paths_{""};
    std::string probePath_;
    int attempt_ = 0;
    std::vector<Part> parts_;
    bool isEnding_ = false;
    std::int64_t doneNs_ = 0;  ///< the attempt's own gang has ended well; steady, 0: not yet
};

}  // namespace millrace::agent

#pragma once
// DataCrew: the data workers of an attempt, over all nodes: as many as are wanted, and others in
// the place of those that are lost.
//
// Each one is a gang of its own beside the attempt's, so that their coming and going touches
// neither the ranks nor the feed. They are spread over the nodes beside the head's, by how many
// each has for its cores; where there is none they are on the head's machine, beside the feed. A
// worker whose process ends is restarted there; one whose node is lost starts on another node.
// crew.json of the attempt records each worker's node before the node is asked for it. Threads: the
// controller's only. Failure: none that ends the run, which continues without them.
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

/// What a crew works with; all of it outlives it.
struct CrewPlace {
    const Clock& clock;
    Nodes& nodes;
    std::int64_t paceNs = 5'000'000'000;  ///< between one more or fewer and the next
};

class DataCrew {
 public:
    /// `least`, `most`: how many the spec asks for.
    DataCrew(CrewPlace place, std::string run, int least, int most);

    /// The attempt's gang is there: its workers are had, or found again.
    void begin(const job::AttemptPaths& paths, int attempt);
    /// What a worker measured: how many would keep the ranks from waiting, where the feed says so.
    /// More than `least` are had on other nodes only: the feed's own threads use the head's.
    void advise(const std::map<std::string, double>& metrics);
    /// What happened since, sentences for the run's history. `isWanted` false: no more are had,
    /// from now on, and those that are there end.
    std::vector<std::string> tick(bool isWanted);
    /// None is left, as far as can be known, or they were given time enough to end.
    bool isOver() const;
    /// The attempt's gang with its data workers, by number.
    engines::State with(const std::optional<engines::State>& gang) const;

 private:
    struct Member {
        DataWorkerName name;
        std::string node;
        std::string joinFile;  ///< that it was placed with; "": not yet
        bool isLeaving = false;
        engines::State state;
        bool isOver() const { return !engines::isLiving(state); }
    };

    void read();
    void end();
    Status save() const;
    int target();
    int numStaying() const;
    /// Nodes beside the head's own that are there or may come back.
    std::vector<NodeStanding> candidates() const;
    /// Returns the node's standing, read once a turn.
    const NodeStanding& standing(const std::string& node);
    void add(int count, std::vector<std::string>& news);
    void keep(std::vector<Member> added, std::vector<std::string>& news);
    void release(Member& member);
    void leaveNode(Member& member, std::vector<std::string>& news);
    void place(Member& member, const std::string& joinFile);
    void look(Member& member);
    void follow(std::vector<std::string>& news);
    bool isLost(const Member& member, std::vector<std::string>& news);
    void meetTarget(std::vector<std::string>& news);

    const CrewPlace place_;
    const std::string run_;
    const int least_, most_;
    job::AttemptPaths paths_{""};
    int attempt_ = 0;
    int next_ = 0;  ///< number of the next worker
    std::vector<Member> members_;
    std::map<std::string, NodeStanding> standings_;  ///< of this turn, by node
    double wanted_ = 0;
    std::int64_t changedNs_ = 0;  ///< when more or fewer were wanted last
    int numFailed_ = 0;           ///< that another one was had for
    bool isEnding_ = true;        ///< none are had: before begin(), after end()
    std::int64_t endedNs_ = 0;    ///< of end()
};

}  // namespace millrace::agent

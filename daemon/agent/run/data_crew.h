#pragma once
// DataCrew: the data workers of an attempt, over all nodes: as many as are wanted, and others in
// the place of those that are lost.
//
// Each one is a gang of its own beside the attempt's, so that their coming and going touches
// neither the ranks nor the feed. They are spread over the other nodes, by how many each has for
// its cores; where there is no other node they are on the head's own. A worker whose process ends
// is started again where it is; one whose node is away for too long is had elsewhere. What is where
// stands in crew.json of the attempt before anything is asked of a node. Threads: the controller's
// only. Failure: none that ends the run, which goes on without them.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/job/attempt_paths.h"
#include "daemon/agent/run/data_nodes.h"
#include "daemon/agent/run/workplace.h"

namespace millrace::agent {

class DataCrew {
 public:
    /// `least`, `most`: how many the spec asks for. `place` outlives it.
    DataCrew(Workplace& place, std::string run, int least, int most);

    /// The attempt's gang is there: its workers are had, or found again.
    void begin(const job::AttemptPaths& paths, int attempt);
    /// How many would keep the ranks from waiting, as the feed says. More than `least` are had on
    /// other nodes only: the feed's own threads use the head's.
    void setWanted(double workers) { wanted_ = workers; }
    /// What happened since, sentences for the run's history.
    std::vector<std::string> tick();
    /// No more are had, and those that are there end.
    void end();
    /// None is left, as far as can be known.
    bool isOver() const;
    /// All of this attempt that count, by number.
    std::vector<engines::WorkerState> workers() const;

 private:
    struct Member {
        DataWorkerName name;
        std::string node;      ///< "": the head's own
        std::string joinFile;  ///< that it was placed with; "": not yet
        bool isPlaced = false;
        bool isLeaving = false;
        engines::State state;
        bool isOver() const { return state.phase == engines::Phase::kEnded; }
    };

    void read();
    Status save() const;
    engines::JobId jobOf(const Member& member) const;
    int target();
    int numStaying() const;
    std::string nodeForNext() const;
    bool mayPlace(const std::string& node) const;
    void add(std::vector<std::string>& news);
    void release(Member& member);
    void place(Member& member, const std::string& joinFile);
    void placeHere(Member& member);
    void look(Member& member);
    void follow(std::vector<std::string>& news);
    bool isLost(const Member& member, std::vector<std::string>& news);
    void meetTarget(std::vector<std::string>& news);

    Workplace& place_;
    const std::string run_;
    const int least_, most_;
    job::AttemptPaths paths_{""};
    int attempt_ = 0;
    int next_ = 0;  ///< number of the next worker
    std::vector<Member> members_;
    double wanted_ = 0;
    std::int64_t changedNs_ = 0;  ///< when more or fewer were wanted last
    int numFailed_ = 0;           ///< that another one was had for
    bool isEnding_ = true;        ///< none are had: before begin(), after end()
};

}  // namespace millrace::agent

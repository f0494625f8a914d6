#pragma once
// Which queued jobs start now: a pure function of the queue, of the jobs that have yet to get their
// nodes, and of the nodes.
//
// A job's parts are placed together or not at all. First in, first out, without overtaking: a job
// for which too little is free holds back those behind it. One that can never fit is refused, one
// for which too few nodes are there waits for them; neither holds back anybody.
#include <string>
#include <vector>

#include "backend/schedule/node_fit.h"

namespace millrace::schedule {

struct Job {
    std::string id;
    std::vector<Part> parts;
};

struct Supply {
    std::vector<Node> nodes;
    int numRunning = 0, maxRunning = 0;  ///< jobs at once; most 0: as many as fit
};

/// Why a job does not start now, in a sentence for its owner.
struct Waiting {
    std::string id;
    std::string reason;
};

struct Decision {
    std::vector<std::string> start;   ///< in this order
    std::vector<Waiting> waiting;     ///< for others, or for what is free
    std::vector<Waiting> lacksNodes;  ///< for nodes that are not there
    std::vector<Waiting> neverFits;   ///< to be refused: more than there is in all
};

/// `queue`: in order of submit. `taking`: jobs that have started and have yet to get their nodes,
/// again or for the first time: they come before the queue.
Decision decide(const std::vector<Job>& queue, const std::vector<Job>& taking, Supply supply);

}  // namespace millrace::schedule

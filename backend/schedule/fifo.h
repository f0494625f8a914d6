#pragma once
// Decides which queued jobs start now: a pure function of the queue, of started jobs that still
// need nodes, and of the nodes.
//
// A job's parts are placed together or not at all. First in, first out, without overtaking: a job
// for which too little is free holds back those after it. A job that can never fit is refused; a
// job for which there are too few nodes waits for them. Neither holds back other jobs.
#include <string>
#include <vector>

#include "backend/schedule/node_fit.h"

namespace millrace::schedule {

struct Job {
    std::string id;
    std::vector<Part> parts;
};

/// A job that does not start now, with the reason as a sentence for its owner.
struct Waiting {
    std::string id;
    std::string reason;
};

struct Decision {
    std::vector<std::string> start;   ///< in this order
    std::vector<Waiting> waiting;     ///< for other jobs, or for free resources
    std::vector<Waiting> lacksNodes;  ///< for missing nodes
    std::vector<Waiting> neverFits;   ///< must be refused: they exceed all that exists
};

/// `queue`: in order of submit. `taking`: started jobs that still need nodes, for the first time or
/// again; they come before the queue.
Decision decide(const std::vector<Job>& queue, const std::vector<Job>& taking,
                std::vector<Node> nodes);

}  // namespace millrace::schedule

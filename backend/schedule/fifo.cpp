#include "backend/schedule/fifo.h"

#include "backend/core/status.h"

namespace millrace::schedule {
namespace {

// "2nd of 7 in the queue".
std::string placeText(std::size_t place, std::size_t of) {
    const bool isTeen = place % 100 / 10 == 1;
    const std::size_t last = isTeen ? 0 : place % 10;
    const char* ending = last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
    return strCat(place, ending, " of ", of, " in the queue");
}

}  // namespace

Decision decide(const std::vector<Job>& queue, const std::vector<Job>& taking,
                std::vector<Node> nodes) {
    Decision decision;
    std::string first;  // why the queue waits: too little is free for a job in `taking`
    for (const Job& job : taking) {
        const Fit found = fit(job.parts, nodes);
        if (found.kind == Fit::Kind::kNow) {
            take(job.parts, found.nodes, nodes);
        } else if (found.kind == Fit::Kind::kLater && first.empty()) {
            first = strCat("waits until run ", job.id, " has its nodes");
        }
    }
    for (const Job& job : queue) {
        const Fit found = fit(job.parts, nodes);
        if (found.kind == Fit::Kind::kNever) {
            decision.neverFits.push_back({job.id, found.reason});
        } else if (found.kind == Fit::Kind::kLacksNodes) {
            decision.lacksNodes.push_back({job.id, found.reason});
        } else if (!decision.waiting.empty() || !first.empty()) {
            decision.waiting.push_back({job.id, first});
        } else if (found.kind == Fit::Kind::kLater) {
            decision.waiting.push_back({job.id, found.reason});
        } else {
            decision.start.push_back(job.id);
            take(job.parts, found.nodes, nodes);
        }
    }
    for (std::size_t i = 1; i < decision.waiting.size(); ++i) {
        decision.waiting[i].reason = placeText(i + 1, decision.waiting.size());
    }
    return decision;
}

}  // namespace millrace::schedule

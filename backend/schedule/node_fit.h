#pragma once
// Where the parts of a job go: a pure function of what they need and of what nodes have.
//
// Threads: values. Failure: none; why they do not fit is a sentence for the job's owner.
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::schedule {

/// Amounts of what a part takes or a node has.
struct Resources {
    double cpus = 0;
    int gpus = 0;
    std::uint64_t memoryBytes = 0;

    Resources& operator+=(const Resources& other);
    Resources& operator-=(const Resources& other);
    /// True when every amount of this is within `other`'s.
    bool fitsIn(const Resources& other) const;
    bool operator==(const Resources&) const = default;
};

/// CPU demand that means all cores of a node.
inline constexpr double kAllCores = 1e6;

/// Never more cores or memory than a node has, so that a default written for a larger one runs.
Resources withinNode(const Resources& needs, const Resources& total);

/// A machine on which parts may be placed.
struct Node {
    std::string name;       ///< "": the head's own machine
    Resources total, free;  ///< total, and not reserved
    bool mayTake = true;    ///< it is there, and is to get more
};

/// A gang of a job, placed on one node. Each part gets a node of its own, except parts beside
/// another part.
struct Part {
    enum class Where {
        kHead,   ///< on the head's own machine
        kOther,  ///< on any other node
        kBeside  ///< on the node of part `beside`, an earlier one that is beside none
    };
    Resources needs;
    Where where = Where::kHead;
    int beside = 0;
};

/// Sum of a part's needs and those of the parts beside it.
Resources needsWithBeside(const std::vector<Part>& parts, int part);

struct Fit {
    enum class Kind {
        kNow,
        kLater,       ///< too little is free
        kLacksNodes,  ///< there are too few nodes, or none is large enough
        kNever        ///< the head's own machine, which does not grow, is too small
    } kind = Kind::kNow;
    std::vector<std::string> nodes;  ///< kNow: by part
    std::string reason;              ///< else
};

/// Prefers nodes with the most free cores; ties go by name.
Fit fit(const std::vector<Part>& parts, const std::vector<Node>& nodes);
/// Subtracts the parts' needs from `nodes[].free`. `on`: the node of each part.
void take(const std::vector<Part>& parts, const std::vector<std::string>& on,
          std::vector<Node>& nodes);

}  // namespace millrace::schedule

#pragma once
// Chooses the nodes of a job's parts: a pure function of the parts' needs and the nodes' resources.
//
// Threads: values. Failure: none; if the parts do not fit, the reason is a sentence for the job's
// owner.
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::schedule {

/// Resources that a part needs or a node has.
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

/// Limits the needs to a node's cores and memory, so that a default written for a larger node
/// works.
Resources withinNode(const Resources& needs, const Resources& total);

/// A machine for parts of jobs.
struct Node {
    std::string name;       ///< "": the head's own machine
    Resources total, free;  ///< free: not reserved
    bool mayTake = true;    ///< it is connected and may get more
};

/// A gang of a job, placed on one node. Each part gets a node of its own, except parts beside
/// another part.
struct Part {
    enum class Where {
        kHead,   ///< on the head's own machine
        kOther,  ///< on any other node
        kBeside  ///< on the node of part `beside`, an earlier part that is not itself kBeside
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
        kLacksNodes,  ///< too few nodes exist, or none is large enough
        kNever        ///< the head's own machine, which does not grow, is too small
    } kind = Kind::kNow;
    std::vector<std::string> nodes;  ///< for kNow: by part
    std::string reason;              ///< for the other kinds
};

/// Prefers nodes with the most free cores; ties go by name.
Fit fit(const std::vector<Part>& parts, const std::vector<Node>& nodes);
/// Subtracts the parts' needs from `nodes[].free`. `on`: the node of each part.
void take(const std::vector<Part>& parts, const std::vector<std::string>& on,
          std::vector<Node>& nodes);

}  // namespace millrace::schedule

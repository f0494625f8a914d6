#pragma once
// Which queued jobs start now: a pure function of the queue, what runs, and what there is.
//
// First in, first out within a priority, without overtaking: a job that does not fit holds back
// those behind it, except one that can never fit, which is refused and holds back nobody.
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::schedule {

/// Amounts of what a job takes or a node has.
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

/// A job in the queue, in order of submit.
struct QueuedJob {
    std::string id;
    Resources needs;
    int priority = 0;  ///< higher first
};

struct RunningJob {
    std::string id;
    Resources holds;
};

/// What the engine has in all, and how many gangs it may run at once (0: as many as fit).
struct Supply {
    Resources total;
    int maxRunning = 0;
};

/// Why a job does not start now, in a sentence for its owner.
struct Waiting {
    std::string id;
    std::string reason;
};

struct Decision {
    std::vector<std::string> start;  ///< in this order
    std::vector<Waiting> waiting;    ///< stay queued
    std::vector<Waiting> neverFits;  ///< to be refused: more than there is in all
};

/// `queue` is in order of submit; ties of priority keep it.
Decision decide(const std::vector<QueuedJob>& queue, const std::vector<RunningJob>& running,
                const Supply& supply);

}  // namespace millrace::schedule

#pragma once
// Leftovers: finds what must not exist any more once all runs have ended, on machines and in the
// head.
//
// Threads: one.
#include <string>

namespace millrace::sim {

class Cluster;

class Leftovers {
 public:
    explicit Leftovers(const Cluster& cluster) : cluster_(cluster) {}
    /// The first leftover with its place, or "". There must be a head.
    std::string find() const;

 private:
    std::string onMachines() const;
    std::string inHead() const;

    const Cluster& cluster_;
};

}  // namespace millrace::sim

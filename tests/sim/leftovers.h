#pragma once
// Leftovers: what must not be there any more once all runs have ended, on machines and in the head.
//
// Threads: one.
#include <string>

namespace millrace::sim {

class Cluster;

class Leftovers {
 public:
    explicit Leftovers(const Cluster& cluster) : cluster_(cluster) {}
    /// The first of them, with its place; "": nothing is left. There must be a head.
    std::string find() const;

 private:
    std::string onMachines() const;
    std::string inHead() const;

    const Cluster& cluster_;
};

}  // namespace millrace::sim

#pragma once
// Clients: users who submit, stop, resume, delete and restore runs at random, at the same time.
//
// Threads: one.
#include <chrono>
#include <cstdint>
#include <string>

namespace millrace::sim {

class Cluster;

class Clients {
 public:
    explicit Clients(Cluster& cluster) : cluster_(cluster) {}
    /// Users act at random for `ns`.
    void come(std::int64_t ns);
    /// Asks the head to stop a run; returns whether the head accepted.
    bool stop(const std::string& run, std::chrono::seconds grace);

 private:
    void askUntil(std::int64_t ns);
    void ask();
    void submit();
    void resume(const std::string& run);
    void remove(const std::string& run, bool isForGood);

    Cluster& cluster_;
};

}  // namespace millrace::sim

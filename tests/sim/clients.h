#pragma once
// Clients: users who submit, stop, resume, delete and restore runs as they like, at the same time.
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
    /// A run is to be stopped; whether the head takes it.
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

#pragma once
// Machine: one computer of the simulated cluster, with its clock, its disk (a directory of this
// one's), its process table, and the cable to the head's.
//
// SimEngine is the product's Engine over that process table: as the embedded one, it finds its
// gangs again when the agent or the head that used it is killed. Its workers are models: a Rank
// that takes steps, and a Sitter for feeds and relays. Threads: one.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/engines/engine.h"
#include "tests/sim/disk.h"
#include "tests/sim/wire.h"
#include "tests/sim/world.h"

namespace millrace::sim {

class Cluster;
class Machine;

/// A worker of a gang as a process.
class Worker {
 public:
    Worker(Cluster& cluster, Machine& machine, std::string gang, engines::WorkerState state);
    virtual ~Worker() = default;
    virtual void begin() = 0;
    /// SIGTERM.
    virtual void terminate();
    /// It ends; what it had open is closed.
    virtual void end(int code);

    Cluster& cluster;
    Machine& machine;
    Life life;
    const std::string gang;
    engines::WorkerState state;
};

struct SimGang {
    engines::Gang gang;
    engines::State state;
    std::vector<std::unique_ptr<Worker>> workers;
    std::int64_t askedNs = 0;  ///< when somebody looked at it last: its orphan lease
    bool isToldOver = false, isForgotten = false;
};

class Machine {
 public:
    Machine(Cluster& cluster, std::string name, int number, bool isForgetful);

    Cluster& cluster;
    const std::string name, root;
    const int number;  ///< 0: the head's
    const MachineClock clock;
    Disk disk;
    Cable cable;
    Life agent;                            ///< the head, or this node's agent
    std::map<std::string, SimGang> gangs;  ///< by key
    std::vector<SimGang> lostGangs;        ///< of which the disk knows nothing after a power cut
    std::set<std::string> tunnels;         ///< keys of parts whose workers have a way to the head
    std::int64_t pid = 1'000;
    bool isToBeLeft = false;  ///< it is drained, or its agent was told to end
    std::int64_t unreadableUntilNs = 0, noTunnelUntilNs = 0, offUntilNs = 0;
    bool isOff() const;
    /// All processes die, the disk forgets; the cable is the caller's.
    void losePower(std::int64_t ns);

    /// What the embedded engine does with each look: consequences, leases.
    void look(SimGang& gang);
    void cancel(SimGang& gang, engines::Cause cause, std::int64_t graceNs, const std::string& why);
    Worker* find(const std::string& worker);
};

using Machines = std::vector<std::unique_ptr<Machine>>;

class SimEngine final : public engines::Engine {
 public:
    explicit SimEngine(Machine& machine) : machine_(machine) {}
    Status submit(const engines::Gang& gang) override;
    Result<bool> has(const std::string& key) override;
    Result<engines::State> state(const std::string& key) override;
    Result<std::vector<std::pair<std::string, engines::State>>> list() override;
    Status cancel(const std::string& key, std::chrono::milliseconds grace,
                  std::string_view why) override;
    Result<std::string> log(const std::string&, std::string_view, std::size_t) override {
        return std::string();
    }
    schedule::Resources total() const override;
    Result<std::string> gangDirectory(std::string_view key) const override;
    std::vector<std::string> recordedKeys() const override;
    Status forget(const std::string& key) override;

 private:
    engines::State told(SimGang& gang);
    Status record(const engines::Gang& gang) const;
    Machine& machine_;
};

}  // namespace millrace::sim

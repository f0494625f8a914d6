#pragma once
// Machine: one computer of the simulated cluster, with its clock, its disk (a directory of the real
// machine), its process table, and its cable to the head's machine.
//
// Its workers are models: a Rank that takes steps, a Sitter for a feed or relay, a DataWorker.
// Threads: one.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/engines/engine.h"
#include "daemon/agent/crew/nodes.h"
#include "tests/sim/disk.h"
#include "tests/sim/wire.h"
#include "tests/sim/world.h"

namespace millrace::sim {

class Cluster;
class Machine;

inline constexpr char kFirstBuild[] = "build1";

/// A worker of a gang as a process.
class Worker {
 public:
    Worker(Cluster& cluster, Machine& machine, std::string gang, engines::WorkerState state);
    virtual ~Worker() = default;
    static std::unique_ptr<Worker> make(Machine& machine, const std::string& gang,
                                        engines::WorkerState state);
    virtual void begin() = 0;
    /// SIGTERM.
    virtual void terminate();
    /// Ends the process and closes its connections.
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
    std::vector<std::unique_ptr<Worker>> gone;  ///< workers that failed and were replaced
    bool isToldOver = false, isForgotten = false;
    bool hasLiving() const;
    /// Whether its place is free: the next submit makes another worker.
    bool isVacant() const { return workers.empty() && state.cause == engines::Cause::kNone; }
};

class Machine {
 public:
    Machine(Cluster& cluster, std::string name, int number, bool isForgetful);

    Cluster& cluster;
    const std::string name, root;
    const int number;  ///< 0: the head's machine
    MachineClock clock;
    Disk disk;
    Cable cable;
    Life agent;                            ///< the head, or this node's agent
    std::map<std::string, SimGang> gangs;  ///< by key
    std::vector<SimGang> lostGangs;        ///< gangs that the disk has lost in a power cut
    std::set<std::string> tunnels;         ///< keys of parts with a tunnel to the head
    std::int64_t pid = 1'000;
    bool isToBeLeft = false;     ///< it is drained, or its agent was told to end
    std::string nodeName;        ///< name of its agent
    std::string build, program;  ///< builds of the running agent and of the installed program
    int numBoots = 1;
    bool hasBegun = false;      ///< its agent has been started
    std::int64_t startsNs = 0;  ///< time that each start of a gang takes
    std::int64_t busyNs = 0;    ///< time that its agent spent working
    std::int64_t unreadableUntilNs = 0, noTunnelUntilNs = 0, offUntilNs = 0;
    bool isOff() const;
    /// All processes die and the disk loses data; the caller cuts the cable.
    void losePower(std::int64_t ns);

    /// Does what the embedded engine does at each look: consequences of ends, leases.
    void look(SimGang& gang);
    void cancel(SimGang& gang, engines::Cause cause, std::int64_t graceNs, const std::string& why);
    Worker* find(const std::string& worker);
    /// A folder of an attempt of that run that is left on a node, or "".
    std::string filesLeft(const std::string& run) const;

 private:
    static void leaveVacant(SimGang& gang);
};

using Machines = std::vector<std::unique_ptr<Machine>>;

}  // namespace millrace::sim

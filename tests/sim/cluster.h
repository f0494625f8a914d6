#pragma once
// Cluster: a head and its nodes in one process, in virtual time. Head, node table and agents are
// the product's code; engines, links, ranks and clocks are models. One seed is one course: it
// decides which runs there are and what fails when.
//
// Threads: one. Failure: problems() has a sentence for each law that did not hold.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/engines/poller.h"
#include "backend/job/log_files.h"
#include "backend/runs/run_store.h"
#include "daemon/agent/membership/node_table.h"
#include "daemon/agent/run_controller.h"
#include "daemon/config/state_lock.h"
#include "daemon/nodes/slot.h"
#include "tests/sim/clients.h"
#include "tests/sim/faults.h"
#include "tests/sim/judge.h"
#include "tests/sim/links.h"
#include "tests/sim/machine.h"
#include "tests/sim/plan.h"
#include "tests/sim/rank.h"
#include "tests/sim/world.h"

namespace millrace::sim {

class Cluster {
 public:
    /// `seed`: decides what the plan leaves open, such as the order of simultaneous events.
    Cluster(std::uint64_t seed, Plan plan, std::string root);
    ~Cluster();

    /// Runs the plan to its end.
    void run();
    /// Runs until that time, without faults.
    void runUntil(std::int64_t ns);
    const std::vector<std::string>& problems() const { return judge_->problems(); }

    World world;
    const std::string root;
    const Plan plan;

    // Used by machines and workers.
    Judge& judge() { return *judge_; }
    Machine& head() { return *machines_.front(); }
    Page& pageOf(const Machine& machine, const std::string& run, int attempt) {
        return pages_[strCat(machine.name, " ", run, ".a", attempt)];
    }
    /// Lines that the daemon had not acknowledged when that checkpoint was written.
    std::deque<rank::RankLine>& linesOf(const std::string& run, const std::string& checkpoint) {
        return lines_[run + checkpoint];
    }
    Links& links() { return links_; }
    bool areRanksDone(const std::string& gang);
    /// The ranks of an attempt on all machines.
    const std::vector<Rank*>& ranksOf(const std::string& run, int attempt) {
        const auto [found, isNew] = ranks_.try_emplace({run, attempt});
        if (isNew) {
            found->second = sim::ranksOf(machines_, run, attempt);
        }
        return found->second;
    }
    /// Call this when workers start or end: the ranks are then searched again.
    void workersChanged() { ranks_.clear(); }
    /// Processor time of the head's turns so far.
    std::int64_t headCpuNs() const { return headCpuNs_; }

 private:
    friend class Clients;
    friend class Faults;
    friend class Leftovers;
    friend class Links;
    friend class SimFiles;
    struct Head;
    class Doors;
    class Door;
    class NodeLink;

    /// The tunnel of a part; it exists as long as this object.
    class Tunnel final : public nodes::PartTunnel {
     public:
        Tunnel(Cluster& cluster, Machine& machine, std::string key)
            : cluster_(cluster), machine_(machine), key_(std::move(key)) {
            machine_.tunnels.insert(key_);
        }
        ~Tunnel() override { cluster_.links_.closeTunnel(machine_, key_); }

     private:
        Cluster& cluster_;
        Machine& machine_;
        const std::string key_;
    };
    /// Starts the head; tries again a second later if it cannot begin.
    void startHead();
    Status openHead();
    void begin();
    void drainHead();
    /// Counts the processor time that a turn of the head takes.
    class Turn;
    void killHead();
    /// Takes the state directory as a head does that is started on the head's machine.
    Result<config::StateLock> takeStateDirectory();
    void startAgent(Machine& machine);
    void agentEnded(Machine& machine);
    void killAgent(Machine& machine);
    /// Whether the head can answer requests.
    bool canAsk() const;
    /// The id of the new run, or "" if the head refused it.
    std::string submit(const Terms& terms);
    void submitFirst();
    /// Damages the store while the head uses it.
    Status changeStore(const std::string& sql) const;
    std::chrono::milliseconds leaseOf(const Machine& machine) const;
    void poke();
    bool isAtRest(std::string* why);

    Machines machines_;
    std::unique_ptr<Judge> judge_;
    Faults faults_{*this};
    Clients clients_{*this};
    std::map<std::string, Page> pages_;
    std::map<std::string, std::deque<rank::RankLine>> lines_;  ///< by run and name of a checkpoint
    std::unique_ptr<Head> head_;
    std::vector<std::unique_ptr<nodes::Slot>> slots_;  ///< by machine; the head's is null
    Links links_{*this};
    std::map<std::pair<std::string, int>, std::vector<Rank*>> ranks_;  ///< by run and attempt
    std::int64_t headCpuNs_ = 0;
    std::vector<std::string> runs_;  ///< in the order submitted
    bool isPokeDue_ = false;
};

}  // namespace millrace::sim

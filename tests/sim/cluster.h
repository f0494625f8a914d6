#pragma once
// Cluster: a head and its nodes in one process, in virtual time. Head, node table and agents are
// the product's own; engines, links, ranks and clocks are models. One seed is one course: which
// runs there are, what fails when.
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
#include "daemon/agent/node_table.h"
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
    /// `seed`: what is left open by the plan, such as the order of what happens at the same time.
    Cluster(std::uint64_t seed, Plan plan, std::string root);
    ~Cluster();

    /// Lets it all happen, to the end.
    void run();
    /// Lets it happen up to that time, without faults.
    void runUntil(std::int64_t ns);
    const std::vector<std::string>& problems() const { return judge_->problems(); }

    World world;
    const std::string root;
    const Plan plan;

    // For machines and workers.
    Judge& judge() { return *judge_; }
    Machine& head() { return *machines_.front(); }
    Page& pageOf(const Machine& machine, const std::string& run, int attempt) {
        return pages_[strCat(machine.name, " ", run, ".a", attempt)];
    }
    /// What the daemon had not acknowledged when that checkpoint was written.
    std::deque<rank::RankLine>& linesOf(const std::string& run, const std::string& checkpoint) {
        return lines_[run + checkpoint];
    }
    Links& links() { return links_; }
    bool areRanksDone(const std::string& gang);
    /// On all machines.
    const std::vector<Rank*>& ranksOf(const std::string& run, int attempt) {
        const auto [found, isNew] = ranks_.try_emplace({run, attempt});
        if (isNew) {
            found->second = sim::ranksOf(machines_, run, attempt);
        }
        return found->second;
    }
    /// Other workers live now.
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

    /// The tunnel of a part: it is there as long as this is.
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
    /// Again a second later, where it cannot begin.
    void startHead();
    Status openHead();
    void begin();
    void drainHead();
    /// Counts the processor time that a turn of the head takes.
    class Turn;
    void killHead();
    /// As a head takes it that is started on the head's machine.
    Result<config::StateLock> takeStateDirectory();
    void startAgent(Machine& machine);
    void agentEnded(Machine& machine);
    void killAgent(Machine& machine);
    /// Somebody can ask the head for something.
    bool canAsk() const;
    /// Its id; "": it was not taken.
    std::string submit(const Terms& terms);
    void submitFirst();
    /// Damages what is in the store, behind the head's back.
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

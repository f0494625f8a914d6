#pragma once
// NodeTable: the nodes beside the head's own, as their agents report them: which are connected,
// what is placed on them, its state, and their samples. Used by the controller (through AllNodes),
// the services and the listener for agents.
//
// The wanted state is what the crews of runs placed: data workers and parts that train. A node
// receives it when it attaches, and again whenever it differs from what the node reports. A node
// keeps a part that ended until it is told that the part is no longer wanted. So no part is started
// twice because the report of its end was lost on the way, or with the head that received it. A
// node that waits for an answer is never asked anything. Threads: any; sessions are called without
// the lock. Owns: nothing of the nodes. Bounded: beyond kNodesMost, nodes that never came back are
// forgotten; a node whose agent has left is forgotten at once. A node's placements belong to its
// crews. Failure: attach() returns why a node may not attach.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/core/clock.h"
#include "backend/core/mutex.h"
#include "backend/job/worker_logs.h"
#include "backend/values/node.h"
#include "daemon/agent/membership/drained_nodes.h"
#include "daemon/agent/membership/node_entry.h"
#include "daemon/agent/system_metrics.h"

namespace millrace::agent {

/// An agent's report.
struct NodeNews {
    std::map<std::string, engines::State> gangs;  ///< gangs that changed, by key
    std::optional<values::NodeSample> sample;
    std::optional<NodeLeave> leave;
};

struct NodeTableOptions {
    std::string ownName;                     ///< of the head's node: no other node may have it
    std::chrono::milliseconds away{20'000};  ///< until an absent node counts as lost
    /// The file with the names of drained nodes; "": they are forgotten with the table.
    std::string drainedFile = {};
    std::set<std::string> drained = {};  ///< the names in that file (DrainedNodes::read)
    bool trainsHere = true;              ///< runs may also be on the head's own node
    /// The same as `away` for a node whose agent was refused for its build: the time for which
    /// guardians wait for an agent (orphanLease of engines::Gang).
    std::chrono::milliseconds awayOtherBuild{600'000};
};

class NodeTable {
 public:
    static constexpr std::size_t kNodesMost = 4096;

    /// `clock` and `logs` outlive it.
    NodeTable(NodeTableOptions options, const Clock& clock, const job::WorkerLogs& logs);

    // For agents (AgentReports, AgentListener).
    /// A node attaches, perhaps again; `gangs`: all gangs that live there. It is sent what is
    /// placed on it. `machine`: identifies the machine with its workers; another machine of the
    /// same name does not have them. kUnavailable: it may attach once those workers count as lost.
    Status attach(const std::shared_ptr<NodeSession>& session, values::NodeInfo info,
                  std::map<std::string, engines::State> gangs, std::string machine = "");
    /// A report arrived and waits to be processed: the node is not silent until report() or
    /// detach().
    void arrived(const NodeSession& session);
    /// kFailedPrecondition: the node has another session by now.
    Status report(const NodeSession& session, NodeNews news);
    /// Returns the log that a node may send: that of `worker` of the gang; nullopt if no such
    /// worker was placed there.
    std::optional<job::LogKey> logOf(const NodeSession& session, const std::string& key,
                                     const std::string& worker) const;
    /// Returns the workers of this attempt's parts on the session's node ("feed1", "rank2"): they
    /// may connect to the attempt's listener. Empty: it has no part of the attempt.
    std::vector<std::string> partWorkers(const NodeSession& session, const std::string& run,
                                         int attempt) const;
    /// Returns OK if the head takes checkpoints of this attempt from the session's node, which has
    /// its part 0. kUnavailable: not known (yet). kAborted: never again.
    Status takesFiles(const NodeSession& session, const std::string& run, int attempt) const;
    void detach(const NodeSession& session);

    // For the services.
    /// Sorted by name.
    std::vector<values::NodeInfo> nodes() const;
    /// While the result exists, nodes send samples.
    std::shared_ptr<void> watch();
    /// Returns the newest sample of each node that is attached, by name.
    std::map<std::string, NodeReport> samples() const;
    bool knows(const std::string& node) const;
    /// kInvalidArgument: the node is the head's own machine, which needs no agent.
    Status checkIsOther(const std::string& node) const;
    /// Adds a node that the configuration names: it is listed before it attaches. `trouble`: why
    /// its agent could not be started, "" if nothing is known; shown until it attaches.
    void expect(const std::string& node, const std::string& trouble);
    /// Notes that an agent with a valid token was refused: shown until one attaches. `mayGoOn`: the
    /// agent is of another build and its workers outlive it, so its node counts as lost only after
    /// `awayOtherBuild`.
    void noteRefused(const std::string& node, const std::string& why, bool mayGoOn = false);
    /// Drains a node or reverts that: its work moves to other nodes and nothing new is placed
    /// there. The next daemon keeps it, until the node is forgotten or its agent has left. Returns
    /// kNotFound for an unknown node, also one that was forgotten or has left.
    Status drain(const std::string& node, bool isDrained);
    /// Ends the node's agent with its workers and closes its session. The node counts as lost at
    /// once; its name is removed when its crews have released it. JoinTokens keeps it from
    /// attaching again.
    Status forget(const std::string& node);
    /// Ends all agents, with their workers.
    void endAll();
    /// Returns whether all of them have ended; after endAll().
    bool isOver() const;

    // For the crews, through AllNodes; as in Nodes.
    std::vector<NodeStatus> standings() const;
    NodeStatus standing(const std::string& node) const;
    void setUnread(bool areSomeUnread, std::map<std::string, int> attempts);
    void keep(const std::string& node, const std::string& key, const schedule::Resources& needs,
              std::vector<std::string> workers);
    void borrow(const std::string& node, const std::string& key, const schedule::Resources& used) {
        MutexLock lock(mutex_);
        nodes_[node].borrowed[key] = used;
    }
    void place(const std::string& node, const Placement& placement);
    void end(const std::string& node, const std::string& key, const EndRequest& request = {});
    void giveUpFiles(const std::string& node, const std::string& key);
    Result<bool> has(const std::string& node, const std::string& key) const;
    std::optional<engines::State> state(const std::string& node, const std::string& key) const;
    std::optional<engines::State> lastWord(const std::string& node, const std::string& key) const;

 private:
    using Node = NodeEntry;
    /// Orders to be sent without the lock.
    using OutgoingOrders = std::pair<std::shared_ptr<NodeSession>, NodeOrders>;

    std::int64_t nowNs() const MR_REQUIRES(mutex_);
    Node* nodeOf(const NodeSession& session) const MR_REQUIRES(mutex_);
    void setSession(Node& node, std::shared_ptr<NodeSession> session) MR_REQUIRES(mutex_);
    NodeStatus standingOf(const std::string& name, const Node& node) const MR_REQUIRES(mutex_);
    NodeOrders::Placed orderOf(const Placement& placement) const;
    std::map<std::string, EndRequest> toEnd(Node& node) MR_REQUIRES(mutex_);
    bool isOlder(const std::string& key) const MR_REQUIRES(mutex_);
    bool isNobodys(const std::string& key) const MR_REQUIRES(mutex_);
    void forgetOldest() MR_REQUIRES(mutex_);
    std::string stateOf(const Node& node, const NodeStatus& standing) const;
    void addWatch(int change);
    static void run(const std::vector<OutgoingOrders>& errands);

    const NodeTableOptions options_;
    const Clock& clock_;
    const job::WorkerLogs& logs_;
    DrainedNodes drained_;
    mutable Mutex mutex_;
    // Time as this table has seen it pass: a head that stood still saw none of its nodes fall
    // silent. Steady, ns.
    mutable std::int64_t seenNs_ MR_GUARDED_BY(mutex_) = 0, lookedNs_ MR_GUARDED_BY(mutex_);
    std::int64_t knownSinceNs_ MR_GUARDED_BY(mutex_) = 0;        ///< when all runs could be read
    std::map<std::string, int> attempts_ MR_GUARDED_BY(mutex_);  ///< current attempts, by run
    bool areRunsTold_ MR_GUARDED_BY(mutex_) = false;             ///< `attempts_` is complete
    std::map<std::string, Node> nodes_ MR_GUARDED_BY(mutex_);
    std::unordered_map<const NodeSession*, Node*> bySession_ MR_GUARDED_BY(mutex_);
    int numWatches_ MR_GUARDED_BY(mutex_) = 0;
    bool isOver_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::agent

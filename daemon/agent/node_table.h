#pragma once
// NodeTable: the nodes beside the head's own, by what their agents say: which are there, what is
// placed on them, how it stands, and their samples.
//
// Wanted is what the crews of runs placed, data workers and parts that train; it is told to a node
// when it comes, and again whenever it differs from what the node reports. A node keeps a part that
// ended until it is told that nobody wants it any more: so no part is begun twice because its end
// was lost on the way, or with the head that heard it. Nothing is asked of a
// node that waits for its answer. Threads: any; sessions are called without the lock. Owns: nothing
// of the nodes. Bounded: nodes that never came back are forgotten beyond kNodesMost, one whose
// agent has left at once; a node's placements are its crews'. Failure: attach() says why a node may
// not come in.
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
#include "daemon/agent/drained_nodes.h"
#include "daemon/agent/node_entry.h"
#include "daemon/agent/system_metrics.h"

namespace millrace::agent {

/// What an agent says.
struct NodeNews {
    std::map<std::string, engines::State> gangs;  ///< that changed, by key
    std::optional<values::NodeSample> sample;
    std::optional<NodeLeave> leave;
};

struct NodeTableOptions {
    std::string ownName;                     ///< of the head's node: no other may have it
    std::chrono::milliseconds away{20'000};  ///< until a node that is away counts as lost
    /// Where the names of drained nodes stand; "": they are forgotten with the table.
    std::string drainedFile = {};
    std::set<std::string> drained = {};  ///< the names in that file (DrainedNodes::read)
    bool trainsHere = true;              ///< runs may be on the head's own node, too
    /// As `away`, of one whose agent was refused for its build: as long as guardians wait for an
    /// agent (orphanLease of engines::Gang).
    std::chrono::milliseconds awayOtherBuild{600'000};
};

class NodeTable {
 public:
    static constexpr std::size_t kNodesMost = 4096;

    /// As long as it lives, nodes send samples.
    class Watch {
     public:
        explicit Watch(NodeTable& table) : table_(table) { table_.addWatch(1); }
        ~Watch() { table_.addWatch(-1); }
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;

     private:
        NodeTable& table_;
    };

    /// `clock` and `logs` outlive it.
    NodeTable(NodeTableOptions options, const Clock& clock, const job::WorkerLogs& logs);

    // The agents' side.
    /// A node comes, or comes back; `gangs`: all that live there. It is told what it is to have.
    /// `machine`: where its workers are; another one of the same name does not have them.
    /// kUnavailable: it is taken in once those count as lost.
    Status attach(const std::shared_ptr<NodeSession>& session, values::NodeInfo info,
                  std::map<std::string, engines::State> gangs, std::string machine = "");
    /// A report arrived and waits to be processed: the node is not silent until report() or
    /// detach().
    void arrived(const NodeSession& session);
    /// kFailedPrecondition: another session is the node's by now.
    Status report(const NodeSession& session, NodeNews news);
    /// Whose log a node may send: of `worker` of that gang; nothing: none such was placed there.
    std::optional<job::LogKey> logOf(const NodeSession& session, const std::string& key,
                                     const std::string& worker) const;
    /// The workers of this attempt's parts that the session's node has ("feed1", "rank2"): they may
    /// speak with the attempt's door. None: it has no part of it.
    std::vector<std::string> partWorkers(const NodeSession& session, const std::string& run,
                                         int attempt) const;
    /// Whether the head takes checkpoints of this attempt from the session's node, which has its
    /// part 0. kUnavailable: not known (yet). kAborted: never any more.
    Status takesFiles(const NodeSession& session, const std::string& run, int attempt) const;
    void detach(const NodeSession& session);

    // The faces' side.
    /// By name.
    std::vector<values::NodeInfo> nodes() const;
    /// The newest sample of each node that is attached, by name.
    std::map<std::string, NodeReport> samples() const;
    bool knows(const std::string& node) const;
    /// kInvalidArgument: it is the head's own machine, which needs no agent.
    Status checkIsOther(const std::string& node) const;
    /// A node that the configuration names: it is shown before it comes. `trouble`: why its agent
    /// could not be started, "" when nothing is known; shown until it comes.
    void expect(const std::string& node, const std::string& trouble);
    /// An agent with the token was not taken in: shown until one is. `mayGoOn`: it is of another
    /// build and its workers outlive it, so a node that is away is lost only after
    /// `awayOtherBuild`.
    void noteRefused(const std::string& node, const std::string& why, bool mayGoOn = false);
    /// Drains a node or reverts that: its work moves to other nodes and nothing new is placed
    /// there. The next daemon keeps it, until the node is forgotten or its agent has left. Returns
    /// kNotFound for an unknown node, also one that was forgotten or has left.
    Status drain(const std::string& node, bool isDrained);
    /// Its agent ends with its workers and is shut out; the node counts as lost at once, and its
    /// name goes when its crews have let go of it. That it does not come back is for JoinTokens.
    Status forget(const std::string& node);
    /// All agents end, with their workers.
    void endAll();
    /// After endAll().
    bool isOver() const;

    // The crews' side, as Nodes has it (AllNodes).
    std::vector<NodeStanding> standings() const;
    NodeStanding standing(const std::string& node) const;
    void setUnread(bool areSomeUnread, std::map<std::string, int> attempts);
    void keep(const std::string& node, const std::string& key, const schedule::Resources& needs,
              std::vector<std::string> workers);
    void place(const std::string& node, const Placement& placement);
    void end(const std::string& node, const std::string& key, const EndWish& wish = {});
    void giveUpFiles(const std::string& node, const std::string& key);
    Result<bool> has(const std::string& node, const std::string& key) const;
    std::optional<engines::State> state(const std::string& node, const std::string& key) const;
    std::optional<engines::State> lastWord(const std::string& node, const std::string& key) const;

 private:
    using Node = NodeEntry;
    /// To be sent without the lock.
    using Errand = std::pair<std::shared_ptr<NodeSession>, NodeOrders>;

    std::int64_t nowNs() const MR_REQUIRES(mutex_);
    Node* nodeOf(const NodeSession& session) const MR_REQUIRES(mutex_);
    void setSession(Node& node, std::shared_ptr<NodeSession> session) MR_REQUIRES(mutex_);
    NodeStanding standingOf(const std::string& name, const Node& node) const MR_REQUIRES(mutex_);
    NodeOrders::Placed orderOf(const Placement& placement) const;
    std::map<std::string, EndWish> toEnd(Node& node) MR_REQUIRES(mutex_);
    bool isOlder(const std::string& key) const MR_REQUIRES(mutex_);
    bool isNobodys(const std::string& key) const MR_REQUIRES(mutex_);
    void forgetOldest() MR_REQUIRES(mutex_);
    std::string stateOf(const Node& node, const NodeStanding& standing) const;
    void addWatch(int change);
    static void run(const std::vector<Errand>& errands);

    const NodeTableOptions options_;
    const Clock& clock_;
    const job::WorkerLogs& logs_;
    DrainedNodes drained_;
    mutable Mutex mutex_;
    // Time as this table has seen it pass: a head that stood still saw none of its nodes fall
    // silent. Steady, ns.
    mutable std::int64_t seenNs_ MR_GUARDED_BY(mutex_) = 0, lookedNs_ MR_GUARDED_BY(mutex_);
    std::int64_t knownSinceNs_ MR_GUARDED_BY(mutex_) = 0;        ///< all runs have been read since
    std::map<std::string, int> attempts_ MR_GUARDED_BY(mutex_);  ///< present ones, by run
    bool areRunsTold_ MR_GUARDED_BY(mutex_) = false;             ///< `attempts_` has all of them
    std::map<std::string, Node> nodes_ MR_GUARDED_BY(mutex_);
    std::unordered_map<const NodeSession*, Node*> bySession_ MR_GUARDED_BY(mutex_);
    int numWatches_ MR_GUARDED_BY(mutex_) = 0;
    bool isOver_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::agent

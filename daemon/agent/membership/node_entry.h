#pragma once
// NodeEntry: what NodeTable keeps for one node: what is placed on it, what it reported last, and
// the connection to its agent.
//
// Threads: guarded by the table.
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/values/node.h"
#include "daemon/agent/crew/nodes.h"
#include "daemon/agent/system_metrics.h"

namespace millrace::agent {

/// Orders for a node.
struct NodeOrders {
    struct Placed {
        Placement placement;
        std::map<std::string, std::uint64_t> logOffsets;  ///< by worker: bytes that the head has
    };
    std::vector<Placed> placed;
    std::map<std::string, EndRequest> ended;  ///< gangs that must end, by key
    bool wantsSamples = false;
    bool isEnd = false;  ///< its agent must end, with all its workers
};

/// The connection to an agent.
class NodeSession {
 public:
    virtual ~NodeSession() = default;
    /// Does not wait.
    virtual void send(const NodeOrders& orders) = 0;
    /// Closes the connection after what was sent, and all connections that its workers have through
    /// it. Does not wait.
    virtual void shutOut(const Status& why) = 0;
};

/// An agent ends, and its workers with it.
struct NodeLeave {
    std::chrono::milliseconds grace{0};  ///< until it ends the workers that are left
    bool isGone = false;                 ///< nothing is left there; no report follows
};

/// State of one node; guarded by the table's mutex.
struct NodeEntry {
    static constexpr std::size_t kLastWordsMost = 64;
    struct Kept {
        schedule::Resources needs;
        std::vector<std::string> workers;
    };
    values::NodeInfo info;
    std::string machine;                    ///< of the agent that attached last; "": not known
    std::shared_ptr<NodeSession> session;   ///< null: it is not connected
    std::int64_t heardNs = 0, heardMs = 0;  ///< by nowNs(), and UTC; heardMs 0: never
    bool isExpected = false, isRefused = false;
    bool mayGoOn = false;      ///< refused for its build; what runs there outlives its agent
    bool isBeingRead = false;  ///< a report of it is being read
    std::string trouble;
    std::optional<NodeLeave> leave;                           ///< its agent ends
    std::map<std::string, Placement> placed;                  ///< by key
    std::map<std::string, std::vector<std::string>> workers;  ///< by gang: their logs are accepted
    std::map<std::string, Kept> kept;                         ///< by gang
    std::map<std::string, schedule::Resources> borrowed;      ///< by gang; not reserved
    std::map<std::string, engines::State> gangs;              ///< as the node reports them
    std::map<std::string, EndRequest> ended;                  ///< gangs that must end
    std::set<std::string> givenUp;                            ///< of `ended`: checkpoints given up
    std::deque<std::pair<std::string, engines::State>>
        lastWords;               ///< final states of released parts
    std::set<std::string> told;  ///< keys in `ended` sent on this session
    NodeReport report;
    bool isWanted(const std::string& key) const {
        return placed.contains(key) || kept.contains(key);
    }
    bool isFree() const { return placed.empty() && kept.empty(); }
    bool hasLeft() const { return session == nullptr && leave.has_value() && leave->isGone; }
    /// Takes the reported states of gangs.
    void take(std::map<std::string, engines::State> said);
    /// Releases the gang. Returns whether the node must be told to end it.
    bool unplace(const std::string& key, const EndRequest& request);
    /// Keeps the final state of a released part for a while.
    void remember(const std::string& key, engines::State state);
    /// Stops accepting logs of gangs that are neither placed nor ending.
    void dropWorkers();
    /// See Nodes::state().
    std::optional<engines::State> state(const std::string& key) const;
    std::optional<engines::State> lastWord(const std::string& key) const;
};

}  // namespace millrace::agent

#pragma once
// Nodes: the machines on which the gangs of a run's attempts are placed, as its crews see them.
// Tests replace them with fakes.
//
// Everything that runs on another machine than the head's is a gang of its own there. Such a gang
// is either the part of an attempt that trains on a node (the feed that leads or a relay, with that
// node's ranks) or one data worker. Threads: any. No call waits for a node: orders are noted and
// sent when the node is connected.
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/engines/engine.h"

namespace millrace::agent {

/// One part of an attempt. It is numbered like its node among the nodes that train; part 0 has the
/// feed that leads.
struct PartName {
    std::string run;
    int attempt = 1;
    int part = 0;

    std::string key() const;   ///< key of its gang: "<run>.a<attempt>", "<run>.a<attempt>.p<part>"
    std::string feed() const;  ///< name of its folder and log: "feed", "feed<part>"
    /// Returns nullopt for another gang's key.
    static std::optional<PartName> parse(std::string_view key);
};

/// One data worker of an attempt. Numbers are not reused: a worker that replaces another one has a
/// new number.
struct DataWorkerName {
    std::string run;
    int attempt = 1;
    int number = 0;

    std::string key() const;     ///< key of its gang: "<run>.a<attempt>.d<number>"
    std::string worker() const;  ///< name of its folder and log: "data<number>"
    /// Returns nullopt for another gang's key.
    static std::optional<DataWorkerName> parse(std::string_view key);
};

/// Gangs are made before their machine is known: in the arguments of Millrace's own programs
/// "{bin}" stands for the programs' directory and "{attempt}" for the attempt's. settle() replaces
/// both, and passes them to a user's own program in its environment. Millrace's own programs get
/// the name of `node` in MR_NODE.
void settle(engines::Gang& gang, const std::string& binDir, const std::string& attemptDirectory,
            const std::string& node);

/// The gang of a data worker. A worker that ends is restarted on its node, up to 16 times.
/// `threads`: with which it computes; 0: as the spec says.
engines::Gang dataGang(const DataWorkerName& name, int threads = 0);
/// The gang of a part other than 0: a relay of the feed that leads, and `ranks`.
engines::Gang relayGang(const PartName& name, engines::Group ranks);
/// Sets the command of the built-in trainer's ranks.
void giveCommand(engines::Group& ranks);

/// A data worker beside ranks of its attempt.
struct WorkerBeside {
    std::string node;                     ///< where the ranks are
    std::optional<std::int64_t> threads;  ///< absent: one for each spare core
    std::uint64_t memoryBytes = 0;        ///< its limit
};

/// A gang that is placed on a node, with its files.
struct Placement {
    std::string key;       ///< of the gang
    std::string gang;      ///< engines::gangText(), not settled
    std::string jobFile;   ///< text of its job.json, with the head's paths; "": it has no job
    std::string joinFile;  ///< text of the file for joining the feed that leads; "": it leads
    /// A file in the shared checkpoint directory, and its content: a node that cannot read the file
    /// does not see the directory. "": no directory is shared; the agent sends checkpoints to the
    /// head and fetches them from there.
    std::string probePath, probeText;
    bool operator==(const Placement&) const = default;
};

/// Returns the names of its workers, in order; empty if the text is not a gang.
std::vector<std::string> workersOf(const Placement& placement);

struct NodeStatus {
    std::string name;              ///< "": the head's own machine
    std::string address;           ///< where other nodes reach it; "": all nodes are one machine
    std::string interface;         ///< of `address`; "": unknown, or the node finds it
    schedule::Resources total;     ///< what the node has
    schedule::Resources free;      ///< resources that are not reserved
    schedule::Resources borrowed;  ///< the part of `free` that gangs use until it is reserved
    int numPlaced = 0;             ///< number of gangs, of all runs
    std::int64_t heardMs = 0;      ///< its last sign of life, UTC by the head's clock; 0: none yet
    bool isThere = false;          ///< it was heard from in the last seconds
    bool isLost = false;           ///< away past its limit; what was on it counts as ended
    bool hasLeft = false;   ///< it is lost, and its agent reported that nothing is left there
    std::string held;       ///< why it is away but not lost; "": its limit is not over
    bool isClosed = false;  ///< nothing new is placed on it, but what is there may stay
    std::string leaving;    ///< why it is to be left, for people; "": it is not to be left
    std::chrono::milliseconds leaveGrace{0};  ///< for a node to be left: time that its ranks have
    /// Returns whether more may be placed on it.
    bool mayTake() const { return isThere && leaving.empty() && !isClosed; }
};

/// How to end a gang.
struct EndRequest {
    std::chrono::milliseconds grace{2'000};  ///< between SIGTERM and SIGKILL
    std::string why;                         ///< a sentence for its workers' logs
};

/// All nodes, by name. "" is the head's machine: OwnNode, in the daemon's process, keeps its
/// workers.
class Nodes {
 public:
    virtual ~Nodes() = default;
    /// Name of the head's machine, for display.
    virtual std::string ownName() const = 0;
    /// All other nodes that attached since the head started, sorted by name.
    virtual std::vector<NodeStatus> standings() const = 0;
    /// A node that never attached counts as away since the head started.
    virtual NodeStatus standing(const std::string& node) const = 0;
    /// Sets whether some active runs, or their gangs, cannot be read, so that their parts are
    /// unknown: a gang that no run claims may belong to them. `attempts`: the current attempt of
    /// each active run, by run; 0: not known. A gang of an earlier attempt, or of a run that is not
    /// active, is not wanted.
    virtual void setUnread(bool areSomeUnread, std::map<std::string, int> attempts) = 0;
    /// Reserves these resources of the node for the part, until end(). `workers`: names of the
    /// node's workers that may connect to the attempt's listener.
    virtual void keep(const std::string& node, const std::string& key,
                      const schedule::Resources& needs, std::vector<std::string> workers) = 0;
    /// Notes that the gang uses these resources of the node until end(), without reserving them.
    virtual void borrow(const std::string& node, const std::string& key,
                        const schedule::Resources& used) = 0;
    /// Starts the gang, or passes on the new join file after the feed was replaced. Returns errors
    /// only for the head's machine; retry if isTransient(). kAlreadyExists: another gang has the
    /// key.
    virtual Status place(const std::string& node, const Placement& placement) = 0;
    /// Ends the gang; a node that is away receives the order when it returns. A part ends only when
    /// the head has its checkpoints. On an error call again.
    virtual Status end(const std::string& node, const std::string& key,
                       const EndRequest& request) = 0;
    /// Ends a part's wait for checkpoints that have not arrived; after end().
    virtual void giveUpFiles(const std::string& node, const std::string& key) = 0;
    /// Returns whether the gang was placed on the node. True for a lost node, where it may have
    /// been placed. An error: unknown at present.
    virtual Result<bool> has(const std::string& node, const std::string& key) = 0;
    /// Returns what the node reported last. Nothing: not known (yet), or the gang was to end and
    /// its end was reported. A gang that was to end before anything was reported counts as
    /// stopping.
    virtual std::optional<engines::State> state(const std::string& node,
                                                const std::string& key) = 0;
    /// Returns the final state of a part that was to end and whose end was reported. Kept for a
    /// while.
    virtual std::optional<engines::State> lastWord(const std::string& node,
                                                   const std::string& key) const = 0;
    /// Returns the engine's last log lines about a worker that never reported. "": there are none,
    /// or the node is not the head's machine (other nodes send their logs to the head).
    virtual std::string words(const std::string& node, const std::string& key,
                              const std::string& worker) = 0;
};

/// Returns all nodes for schedule::decide, the head's machine first.
std::vector<schedule::Node> allOf(const Nodes& nodes);

}  // namespace millrace::agent

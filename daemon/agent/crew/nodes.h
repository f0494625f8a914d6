#pragma once
// Nodes: the machines on which gangs of a run's attempts may be placed, as its crews see them;
// fakes stand in for it in tests.
//
// Everything that runs on another machine than the head's is a gang of its own there: the part of
// an attempt that trains on a node (the feed that leads or a relay, with that node's ranks), and
// each data worker. Threads: any. No call waits for a node: what is wanted is noted and told to it
// when it is there.
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/engines/engine.h"

namespace millrace::agent {

/// One part of an attempt, by the number of its node among those that train. Part 0 has the feed
/// that leads.
struct PartName {
    std::string run;
    int attempt = 1;
    int part = 0;

    std::string key() const;   ///< of its gang: "<run>.a<attempt>", "<run>.a<attempt>.p<part>"
    std::string feed() const;  ///< "feed", "feed<part>": its folder, its log
    /// Nothing for another gang's key.
    static std::optional<PartName> parse(std::string_view key);
};

/// One data worker of an attempt. A number is given once: a worker that is had elsewhere has
/// another one.
struct DataWorkerName {
    std::string run;
    int attempt = 1;
    int number = 0;

    std::string key() const;     ///< of its gang: "<run>.a<attempt>.d<number>"
    std::string worker() const;  ///< "data<number>": its folder, its log
    /// Nothing for another gang's key.
    static std::optional<DataWorkerName> parse(std::string_view key);
};

/// Gangs are made without the machine they will be on: in the arguments of programs of ours
/// "{bin}" stands for the programs' directory and "{attempt}" for the attempt's. settle() puts
/// them in, and tells a user's own program where they are.
void settle(engines::Gang& gang, const std::string& binDir, const std::string& attemptDirectory);

/// The gang of a data worker. One that is lost is started again in its place, up to 16 times.
engines::Gang dataGang(const DataWorkerName& name);
/// Of a part other than 0: a relay of the feed that leads, and `ranks`.
engines::Gang relayGang(const PartName& name, engines::Group ranks);
/// Gives ranks of the built-in trainer their command.
void giveCommand(engines::Group& ranks);

/// What a node is to have.
struct Placement {
    std::string key;       ///< of the gang
    std::string gang;      ///< engines::gangText(), not settled
    std::string jobFile;   ///< text of its job.json, with the head's paths; "": it needs none
    std::string joinFile;  ///< text of what it joins the feed that leads with; "": it leads
    /// A file in the shared checkpoint directory and its content: a node that cannot read it does
    /// not see the directory. "": no directory is shared; the agent sends checkpoints to the head
    /// and fetches them from there.
    std::string probePath, probeText;
    bool operator==(const Placement&) const = default;
};

/// Names of its workers, in order; none of what is no gang.
std::vector<std::string> workersOf(const Placement& placement);

struct NodeStanding {
    std::string name;           ///< "": the head's own machine
    std::string address;        ///< where other nodes reach it; "": all nodes are one machine
    std::string interface;      ///< of it that `address` is on; "": not known, or told there
    schedule::Resources total;  ///< what the node has
    schedule::Resources free;   ///< without what is kept
    int numPlaced = 0;          ///< gangs of all runs
    std::int64_t heardMs = 0;   ///< the last sign of it, UTC by the head's clock; 0: none yet
    bool isThere = false;       ///< heard of within the last seconds
    bool isLost = false;        ///< away for so long that what was on it counts as ended
    bool hasLeft = false;       ///< lost, and its agent said that nothing is left there
    std::string held;           ///< why it is away and not lost yet, for people; "": by its time
    bool isClosed = false;      ///< nothing new is placed there, and what is there may stay
    std::string leaving;        ///< why it is to be left, for people; "": it is not
    std::chrono::milliseconds leaveGrace{0};  ///< of a leaving one: how long its ranks may take
    /// More may be placed on it.
    bool mayTake() const { return isThere && leaving.empty() && !isClosed; }
};

/// How a gang is to end.
struct EndWish {
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
    virtual std::vector<NodeStanding> standings() const = 0;
    /// A node that never attached counts as away since the head started.
    virtual NodeStanding standing(const std::string& node) const = 0;
    /// Whether there are runs under way whose parts nobody knows yet, as their run or their gang
    /// cannot be read: gangs that nobody asks for may be theirs. `attempts`: the present ones of
    /// all runs under way, by run; 0: not known. No gang of an earlier one, or of a run that is not
    /// under way, is wanted.
    virtual void setUnread(bool areSomeUnread, std::map<std::string, int> attempts) = 0;
    /// So much of the node is kept for this part until end(). `workers`: who of the node may speak
    /// with the attempt's door, by name.
    virtual void keep(const std::string& node, const std::string& key,
                      const schedule::Resources& needs, std::vector<std::string> workers) = 0;
    /// Starts the gang, or passes on the new join file after the feed was replaced. Only the head's
    /// machine returns errors; isTransient: try again. kAlreadyExists: the key is another gang's.
    virtual Status place(const std::string& node, const Placement& placement) = 0;
    /// Ends the gang; a node that is away receives the order when it returns. A part ends only when
    /// the head has its checkpoints. On an error call again.
    virtual Status end(const std::string& node, const std::string& key, const EndWish& wish) = 0;
    /// Ends a part's wait for checkpoints that have not arrived; after end().
    virtual void giveUpFiles(const std::string& node, const std::string& key) = 0;
    /// Whether the gang was placed on the node; true for a lost node, where it may have been. An
    /// error: unknown at present.
    virtual Result<bool> has(const std::string& node, const std::string& key) = 0;
    /// What the node said last; nothing: not known (yet), or its end was asked for and is heard.
    /// One of which nothing was heard before its end was asked for is stopping until it is.
    virtual std::optional<engines::State> state(const std::string& node,
                                                const std::string& key) = 0;
    /// How a part stood at its end, of one whose end was asked for and is heard: for a while.
    virtual std::optional<engines::State> lastWord(const std::string& node,
                                                   const std::string& key) const = 0;
    /// The engine's last log lines about a worker that never reported; "": it has none, or the node
    /// is not the head's machine (its logs are sent to the head).
    virtual std::string words(const std::string& node, const std::string& key,
                              const std::string& worker) = 0;
};

/// All nodes for schedule::decide; the head's machine first.
std::vector<schedule::Node> allOf(const Nodes& nodes);

}  // namespace millrace::agent

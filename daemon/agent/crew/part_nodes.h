#pragma once
// PartNodes: the other nodes on which parts of a run's attempts train, as PartCrew sees them; fakes
// stand in for it in tests.
//
// A part is what an attempt has on one node beside the head's: the ranks of that node, and a relay
// that serves them the frames of the feed that leads. Threads: any. No call waits for a node: what
// is wanted is noted and told to it when it is there.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/engines/engine.h"

namespace millrace::agent {

/// One part of an attempt, by the number of its node among those that train: from 1, the head's
/// is 0.
struct PartName {
    std::string run;
    int attempt = 1;
    int part = 1;

    std::string key() const;    ///< of its gang: "<run>.a<attempt>.p<part>"
    std::string relay() const;  ///< "feed<part>": its folder, its log
    /// Nothing for another gang's key.
    static std::optional<PartName> parse(std::string_view key);
};

/// What ranks are told on the node they are on: those of the built-in trainer their command, those
/// of a script where they find their job and its module.
void giveCommand(engines::Group& ranks, const std::string& jobPath, const std::string& binDir);
/// The gang of a part: its relay, and `ranks`, which get their command here.
engines::Gang partGang(const PartName& name, engines::Group ranks, const std::string& jobPath,
                       const std::string& binDir);

struct PartPlacement {
    PartName name;
    std::string ranks;     ///< engines::groupText() of its ranks
    std::string jobFile;   ///< text of its job.json, with the head's paths
    std::string joinFile;  ///< text of what its relay joins with
    /// A file in the directory of checkpoints, and what stands in it: who cannot read that there
    /// does not see the checkpoints.
    std::string probePath, probeText;
    bool operator==(const PartPlacement&) const = default;
};

/// Its relay, and its ranks in order.
std::vector<std::string> workersOf(const PartPlacement& placement);

struct PartStanding {
    std::string name;
    schedule::Resources total;  ///< what the node has
    schedule::Resources free;   ///< without what is kept for parts
    std::int64_t heardMs = 0;   ///< the last sign of it, UTC by the head's clock; 0: none yet
    bool isThere = false;       ///< heard of within the last seconds
    bool isLost = false;        ///< away for so long that its ranks count as ended
};

class PartNodes {
 public:
    virtual ~PartNodes() = default;
    /// Of the nodes that have come since the head started, by name.
    virtual std::vector<PartStanding> partStandings() const = 0;
    /// Of a node that has not come either: it is away since the head started.
    virtual PartStanding partStanding(const std::string& node) const = 0;
    /// Whether there are runs under way whose parts nobody knows yet, as their run or their gang
    /// cannot be read: gangs that nobody asks for may be theirs.
    virtual void setUnread(bool areSomeUnread) = 0;
    /// So much of the node is kept for this part until end().
    virtual void keep(const std::string& node, const std::string& key,
                      const schedule::Resources& needs) = 0;
    /// It is to be there; again with another join file where the feed has a new one.
    virtual void place(const std::string& node, const PartPlacement& placement) = 0;
    /// It is to be there no more; told to a node that is away when it comes back.
    virtual void end(const std::string& node, const std::string& key) = 0;
    /// What the node said last; nothing: not known (yet), or its end was asked for and is heard.
    /// One of which nothing was heard before its end was asked for is stopping until it is.
    virtual std::optional<engines::State> state(const std::string& node,
                                                const std::string& key) const = 0;
    /// How it stood at its end, of one whose end was asked for and is heard: for a while.
    virtual std::optional<engines::State> lastWord(const std::string& node,
                                                   const std::string& key) const = 0;
};

/// The nodes for the parts of an attempt that needs `count` of them, `needs` of each: those with
/// the most that is free, by name where that is equal. kUnavailable: too few are ready, with a
/// sentence for the run's owner.
Result<std::vector<std::string>> chooseNodes(const std::vector<PartStanding>& nodes, int count,
                                             const schedule::Resources& needs);
/// Never more cores or memory than a node has, so that a default written for a larger one runs.
schedule::Resources withinNode(const schedule::Resources& needs, const schedule::Resources& total);

}  // namespace millrace::agent

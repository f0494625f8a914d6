#pragma once
// DataNodes: the other nodes on which a run's data workers may be, as its crew sees them; fakes
// stand in for it in tests.
//
// Threads: any. No call waits for a node: what is wanted is noted and told to it when it is there.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/engines/engine.h"

namespace millrace::agent {

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

/// The gang of one such worker, which joins with the file `joinPath`. A worker that is lost is
/// started again in its place, up to 16 times.
engines::Gang dataGang(const DataWorkerName& name, const std::string& joinPath,
                       const std::string& binDir);

struct DataPlacement {
    DataWorkerName name;
    std::string joinFile;  ///< its text
};

struct NodeStanding {
    std::string name;
    int cores = 0;
    int numPlaced = 0;     ///< data workers of all runs
    bool isThere = false;  ///< heard of within the last seconds
    bool isLost = false;   ///< away for so long that its workers are to be had elsewhere
};

class DataNodes {
 public:
    virtual ~DataNodes() = default;
    /// Of the head's own node.
    virtual std::string ownName() const = 0;
    /// Of the nodes that have come since the head started, by name.
    virtual std::vector<NodeStanding> standings() const = 0;
    /// Of a node that has not come either: it is away since the head started.
    virtual NodeStanding standing(const std::string& node) const = 0;
    /// It is to be there; again with another join file where the feed has a new one.
    virtual void place(const std::string& node, const DataPlacement& placement) = 0;
    /// It is to be there no more; told to a node that is away when it comes back.
    virtual void end(const std::string& node, const std::string& key) = 0;
    /// What the node said last; nothing: not known (yet).
    virtual std::optional<engines::State> state(const std::string& node,
                                                const std::string& key) const = 0;
};

}  // namespace millrace::agent

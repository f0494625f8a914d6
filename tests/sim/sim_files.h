#pragma once
// SimFiles: transfers of checkpoints between a node and the head over a simulated cable. It decides
// as FileMover does which file moves when, and receives as CheckpointTransfers does; files and
// checks are the product's code.
//
// Threads: one. Owns: its transfers, which end with it.
#include <map>
#include <memory>
#include <set>
#include <string>

#include "backend/checkpoint/checkpoint_directory.h"
#include "backend/job/attempt_paths.h"
#include "daemon/nodes/uplink.h"
#include "tests/sim/machine.h"

namespace millrace::sim {

class SimFiles final : public nodes::HeadFiles {
 public:
    SimFiles(Cluster& cluster, Machine& machine) : cluster_(cluster), machine_(machine) {}

    Status fetch(const std::string& key) override;
    std::optional<values::HandOver> handOver(const std::string& key) override;
    void drop(const std::string& key) override;

 private:
    using Names = std::vector<checkpoint::CheckpointName>;
    /// One file in transfer.
    struct Transfer {
        std::string path;
        bool isMoving = false, isDone = false;
        Status failure = okStatus();  ///< time of the last try
        std::int64_t dueNs = 0, backoffNs = 0;
    };
    using Transfers = std::map<std::string, std::shared_ptr<Transfer>>;
    struct Given {
        std::set<checkpoint::CheckpointName> kept;  ///< data that the head has
        bool isGivenUp = false;
    };

    Result<Names> unsent(const job::AttemptPaths& paths, int attempt, const Given& given) const;
    const Transfer& move(Transfers& transfers, const std::string& key, const std::string& path);
    void give(const std::string& key, const std::shared_ptr<Transfer>& transfer);
    void bring(const std::string& key, const std::shared_ptr<Transfer>& transfer);

    Cluster& cluster_;
    Machine& machine_;
    std::map<std::string, Given> given_;  ///< by gang
    Transfers out_, in_;                  ///< by gang
};

}  // namespace millrace::sim

#pragma once
// SimFiles: checkpoints between a node and the head, as FileMover and CheckpointDesk move them,
// over a simulated cable. It decides as FileMover which file is moved when; files and checks are
// the product's own.
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
    /// One file on its way.
    struct Transfer {
        std::string path;
        bool isMoving = false, isDone = false;
        Status failure = okStatus();  ///< of the last try
        std::int64_t dueNs = 0, backoffNs = 0;
    };
    using Transfers = std::map<std::string, std::shared_ptr<Transfer>>;
    struct Given {
        std::set<checkpoint::CheckpointName> kept;  ///< at the head
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

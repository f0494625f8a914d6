#pragma once
// FileMover: moves checkpoints between this node and its head, by calls of their own, so that signs
// of life never wait behind bytes.
//
// What rank 0 of an attempt writes lies in the attempt's directory until the head has it; it goes
// in the order of the steps, no faster than the rate. A checkpoint that an attempt's job reads is
// brought beside the job. A transfer that breaks resumes where it was, also with another agent or
// head: how far it is stands in the files. Threads: one owner; a lane for each direction. Owns: the
// lanes and their calls. Bounded: a chunk in memory; kMostWaiting checkpoints behind the one that
// is on its way: of more, those between go, as a slow link would fill the disk. Failure: as
// HeadFiles; what fails is tried again.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/checkpoint/checkpoint_directory.h"
#include "backend/job/attempt_paths.h"
#include "daemon/nodes/transfer_lane.h"
#include "daemon/nodes/uplink.h"

namespace millrace::nodes {

struct FileMoverOptions {
    std::string runsDir;
    std::string joinPath;        ///< read for each transfer, as HeadLink does
    std::string tunnelKey;       ///< of this agent's attachment
    std::uint64_t rateMb = 250;  ///< to the head, 10^6 bytes a second at most
};

class FileMover final : public HeadFiles {
 public:
    static constexpr std::size_t kMostWaiting = 3;

    explicit FileMover(FileMoverOptions options);

    Status fetch(const std::string& key) override;
    std::optional<values::HandOver> handOver(const std::string& key) override;
    void drop(const std::string& key) override;

 private:
    using Order = TransferLane::Order;
    using Names = std::vector<checkpoint::CheckpointName>;

    /// Of one gang; nothing: it is no part of an attempt.
    std::optional<job::AttemptPaths> pathsOf(const std::string& key) const;
    Result<Names> unsent(const checkpoint::CheckpointDirectory& directory, int attempt,
                         const std::set<checkpoint::CheckpointName>& kept) const;
    Status give(const Order& order, const std::stop_token& stop);
    Status bring(const Order& order, const std::stop_token& stop);

    const FileMoverOptions options_;
    std::map<std::string, std::set<checkpoint::CheckpointName>> kept_;  ///< by gang: at the head
    std::set<std::string> givenUp_;                                     ///< gangs
    std::map<std::string, std::vector<std::string>> wanted_;  ///< by gang: files of its job
    TransferLane out_, in_;                                   ///< end first
};

}  // namespace millrace::nodes

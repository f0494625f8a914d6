#pragma once
// FileMover: moves checkpoints and scores between this node and its head, by separate calls, so
// that signs of life never wait behind bytes. Used by Slot.
//
// It sends the checkpoints of rank 0 in the order of their steps, within the rate limit, and
// removes each one once the head has it; then the scores of the latest evaluation. It fetches the
// checkpoint that a job resumes from to the job's directory. An interrupted transfer resumes where
// it stopped, also after a restart of agent or head: the partial file is the only record. Threads:
// one owner; a lane for each direction. Owns: the lanes and their calls. Bounded: one chunk in
// memory; kMostWaiting checkpoints wait behind the current one. Others in between are removed, so
// that a slow link does not fill the disk. Failure: as HeadFiles; failed transfers are retried.
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

    /// Identifies scores: another evaluation of the same step has the same name.
    struct ScoresFile {
        std::string path;
        std::uint64_t inode = 0;
        std::int64_t modifiedNs = 0;
        bool operator==(const ScoresFile&) const = default;
    };
    /// The files that were sent for one gang.
    struct Given {
        std::set<checkpoint::CheckpointName> kept;  ///< at the head
        ScoresFile scores, movingScores;            ///< at the head; being sent, "": none
        bool isGivenUp = false;
    };

    /// Paths of a gang's attempt; nothing: the key is not a part's.
    std::optional<job::AttemptPaths> pathsOf(const std::string& key) const;
    Result<Names> unsent(const checkpoint::CheckpointDirectory& directory, int attempt,
                         const std::set<checkpoint::CheckpointName>& kept) const;
    std::optional<values::HandOver> handOverScores(const std::string& key,
                                                   const std::string& directory, Given& given);
    Status give(const Order& order, const std::stop_token& stop);
    Status bring(const Order& order, const std::stop_token& stop);

    const FileMoverOptions options_;
    std::map<std::string, Given> given_;                      ///< by gang
    std::map<std::string, std::vector<std::string>> wanted_;  ///< by gang: files of its job
    TransferLane out_, in_;                                   ///< end first
};

}  // namespace millrace::nodes

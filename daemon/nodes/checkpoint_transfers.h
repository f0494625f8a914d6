#pragma once
// CheckpointTransfers: the head's side of transfers: receives checkpoints and scores from nodes,
// sends checkpoints to them (Agents.HandOver, Agents.Fetch). Used by AgentListener.
//
// A file counts only when it is whole and on disk, a checkpoint only when it is in the store too;
// the agent is told so last. Threads: any, one of gRPC's for each call. Bounded: kCallsMost calls;
// a chunk of each in memory. Failure: the status of the call; the agent retries, except after
// kAborted: the attempt is over.
#include <atomic>
#include <functional>
#include <string>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/job/attempt_paths.h"
#include "daemon/agent/membership/node_table.h"
#include "millrace/v1/agent.grpc.pb.h"

namespace millrace::nodes {

/// Called when a run's checkpoint is here, whole and on disk: it counts from now on.
using KeepCheckpoint =
    std::function<Status(const std::string& run, const checkpoint::CheckpointInfo& facts)>;

class CheckpointTransfers {
 public:
    static constexpr int kCallsMost = 64;
    using HandedOver = grpc::ServerReaderWriter<v1::FileState, v1::FilePart>;
    using Fetched = grpc::ServerWriter<v1::FilePart>;

    /// `table` outlives it. `runsDir`: parent of the run directories.
    CheckpointTransfers(std::string runsDir, const agent::NodeTable& table, KeepCheckpoint keep)
        : runsDir_(std::move(runsDir)), table_(table), keep_(std::move(keep)) {}

    /// The agent that makes a call.
    struct Caller {
        const agent::NodeSession& session;
        std::string run;
        int attempt = 0;
        std::function<bool()> hasLeft;
    };
    Status take(const Caller& caller, HandedOver& stream);
    Status give(const Caller& caller, const v1::FileWanted& wanted, Fetched& stream) const;

 private:
    class Arrival;
    Status takeAll(const Caller& caller, HandedOver& stream) const;

    const std::string runsDir_;
    const agent::NodeTable& table_;
    const KeepCheckpoint keep_;
    std::atomic<int> numCalls_{0};
};

}  // namespace millrace::nodes

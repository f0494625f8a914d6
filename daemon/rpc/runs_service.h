#pragma once
// The service Runs: translates between messages and agent::RunService, and nothing else.
#include <millrace/v1/runs.grpc.pb.h>

#include "daemon/agent/run_service.h"
#include "daemon/rpc/call_pool.h"
#include "daemon/rpc/stream_pump.h"

namespace millrace::rpc {

/// What services work with; all of it outlives the server.
struct ServiceParts {
    CallPool& quick;  ///< reads and small changes
    CallPool& slow;   ///< submits, which wait for datasets, and purges
    CallPool& down;   ///< the daemon's end, which waits for nobody else
    StreamPump& pump;
};

class RunsService final : public v1::Runs::CallbackService {
 public:
    /// Its streams are asked again when `runs` has news: after a commit, not now and then.
    RunsService(agent::RunService& runs, ServiceParts parts);

    using Context = grpc::CallbackServerContext;
    using Unary = grpc::ServerUnaryReactor;

    Unary* Submit(Context*, const v1::SubmitRequest*, v1::SubmitResponse*) override;
    Unary* List(Context*, const v1::ListRunsRequest*, v1::ListRunsResponse*) override;
    Unary* Get(Context*, const v1::GetRunRequest*, v1::GetRunResponse*) override;
    Unary* Document(Context*, const v1::DocumentRequest*, v1::DocumentResponse*) override;
    grpc::ServerWriteReactor<v1::RunUpdate>* Watch(Context*, const v1::WatchRunsRequest*) override;
    Unary* MetricRange(Context*, const v1::MetricRangeRequest*, v1::MetricRangeResponse*) override;
    grpc::ServerWriteReactor<v1::MetricChunk>* WatchMetrics(
        Context*, const v1::WatchMetricsRequest*) override;
    grpc::ServerWriteReactor<v1::LogChunk>* Logs(Context*, const v1::LogsRequest*) override;
    Unary* Stop(Context*, const v1::StopRunRequest*, v1::StopRunResponse*) override;
    Unary* Resume(Context*, const v1::ResumeRunRequest*, v1::ResumeRunResponse*) override;
    Unary* Delete(Context*, const v1::DeleteRunRequest*, v1::DeleteRunResponse*) override;
    Unary* Restore(Context*, const v1::RestoreRunRequest*, v1::RestoreRunResponse*) override;
    Unary* SetNote(Context*, const v1::SetNoteRequest*, v1::SetNoteResponse*) override;
    Unary* SetTags(Context*, const v1::SetTagsRequest*, v1::SetTagsResponse*) override;
    Unary* ParseFilter(Context*, const v1::ParseFilterRequest*, v1::ParseFilterResponse*) override;

 private:
    agent::RunService& runs_;
    const ServiceParts parts_;
    const std::unique_ptr<agent::LiveTable::Subscription> news_;
};

}  // namespace millrace::rpc

#pragma once
// The service Inspect: only translates between messages and agent::Inspection.
//
// Owns: the pools for its requests, so that a slow dataset delays no submit and a preview delays no
// check. It answers two requests at a time, and one preview. A request of a client that has
// disconnected is not started, or is cancelled.
#include <millrace/v1/inspect.grpc.pb.h>

#include "daemon/agent/inspection.h"
#include "daemon/rpc/call_pool.h"

namespace millrace::rpc {

class InspectService final : public v1::Inspect::CallbackService {
 public:
    explicit InspectService(const agent::Inspection& inspection) : inspection_(inspection) {}
    /// Refuses queued requests; running ones continue. Does not wait.
    void end() {
        pool_.end();
        previews_.end();
    }

    using Context = grpc::CallbackServerContext;
    using Unary = grpc::ServerUnaryReactor;

    Unary* Check(Context*, const v1::CheckSpecRequest*, v1::CheckSpecResponse*) override;
    Unary* Dataset(Context*, const v1::DescribeDatasetRequest*,
                   v1::DescribeDatasetResponse*) override;
    Unary* Steps(Context*, const v1::SampleStepsRequest*, v1::SampleStepsResponse*) override;
    Unary* Preview(Context*, const v1::PreviewSpecRequest*, v1::PreviewSpecResponse*) override;
    Unary* Pair(Context*, const v1::PairRunsRequest*, v1::PairRunsResponse*) override;

 private:
    template <class Request, class Value>
    Unary* answer(CallPool& pool, Context* context, const Request* request,
                  google::protobuf::Message* response,
                  Result<std::string> (agent::Inspection::*ask)(const Value&,
                                                                const agent::IsUnwanted&) const);

    static constexpr int kAtOnce = 2;
    static constexpr std::size_t kWaiting = 32;

    const agent::Inspection& inspection_;
    CallPool pool_{"inspects", kAtOnce, kWaiting};
    CallPool previews_{"previews", 1, kWaiting};
};

}  // namespace millrace::rpc

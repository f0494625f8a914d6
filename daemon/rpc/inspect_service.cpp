#include "daemon/rpc/inspect_service.h"

#include <millrace/v1/inspect.grpc.pb.h>

#include <google/protobuf/util/json_util.h>

#include "backend/text/text.h"
#include "proto/convert/inspect_convert.h"
#include "proto/convert/rpc_options.h"

namespace millrace::rpc {
namespace {

// The worker answers in the message's own JSON form; other members are for other readers.
Status fill(const Result<std::string>& answer, google::protobuf::Message* response) {
    RETURN_IF_ERROR(answer.status());
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = true;
    const auto parsed = google::protobuf::util::JsonStringToMessage(*answer, response, options);
    if (!parsed.ok()) {
        return internalError("inspect: the worker's answer cannot be read: ",
                             std::string_view(parsed.message().data(), parsed.message().size()));
    }
    if (response->ByteSizeLong() > static_cast<std::size_t>(kMaxMessageBytes)) {
        return resourceExhausted(
            "the answer has ", formatBytes(static_cast<double>(response->ByteSizeLong())),
            "; at most ", formatBytes(kMaxMessageBytes), ": ask for less at a time");
    }
    return okStatus();
}

class InspectService final : public v1::Inspect::CallbackService {
 public:
    InspectService(const agent::Inspection& inspection, CallPool& pool, CallPool& previews)
        : inspection_(inspection), pool_(pool), previews_(previews) {}

    using Context = grpc::CallbackServerContext;
    using Unary = grpc::ServerUnaryReactor;

    Unary* Check(Context* context, const v1::CheckSpecRequest* request,
                 v1::CheckSpecResponse* response) override {
        return answer(pool_, context, request, response, &agent::Inspection::check);
    }
    Unary* Dataset(Context* context, const v1::DescribeDatasetRequest* request,
                   v1::DescribeDatasetResponse* response) override {
        return answer(pool_, context, request, response, &agent::Inspection::dataset);
    }
    Unary* Steps(Context* context, const v1::SampleStepsRequest* request,
                 v1::SampleStepsResponse* response) override {
        return answer(pool_, context, request, response, &agent::Inspection::steps);
    }
    Unary* Preview(Context* context, const v1::PreviewSpecRequest* request,
                   v1::PreviewSpecResponse* response) override {
        return answer(previews_, context, request, response, &agent::Inspection::preview);
    }
    Unary* Pair(Context* context, const v1::PairRunsRequest* request,
                v1::PairRunsResponse* response) override {
        return answer(pool_, context, request, response, &agent::Inspection::pair);
    }

 private:
    template <class Request, class Value>
    Unary* answer(CallPool& pool, Context* context, const Request* request,
                  google::protobuf::Message* response,
                  Result<std::string> (agent::Inspection::*ask)(const Value&,
                                                                const agent::IsUnwanted&) const) {
        return answerOn(pool, context, [this, context, request, response, ask] {
            const agent::IsUnwanted hasLeft = [context] { return context->IsCancelled(); };
            return hasLeft()
                       ? cancelled("the client has gone")
                       : fill((inspection_.*ask)(convert::fromProto(*request), hasLeft), response);
        });
    }

    const agent::Inspection& inspection_;
    CallPool& pool_;
    CallPool& previews_;
};

}  // namespace

std::unique_ptr<grpc::Service> makeInspectService(const agent::Inspection& inspection,
                                                  CallPool& pool, CallPool& previews) {
    return std::make_unique<InspectService>(inspection, pool, previews);
}

}  // namespace millrace::rpc

#include "daemon/rpc/inspect_service.h"

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

}  // namespace

template <class Request, class Value>
InspectService::Unary* InspectService::answer(
    CallPool& pool, Context* context, const Request* request, google::protobuf::Message* response,
    Result<std::string> (agent::Inspection::*ask)(const Value&, const agent::IsUnwanted&) const) {
    return answerOn(pool, context, [this, context, request, response, ask] {
        const agent::IsUnwanted hasLeft = [context] { return context->IsCancelled(); };
        return hasLeft()
                   ? cancelled("the client has gone")
                   : fill((inspection_.*ask)(convert::fromProto(*request), hasLeft), response);
    });
}

InspectService::Unary* InspectService::Check(Context* context, const v1::CheckSpecRequest* request,
                                             v1::CheckSpecResponse* response) {
    return answer(pool_, context, request, response, &agent::Inspection::check);
}

InspectService::Unary* InspectService::Dataset(Context* context,
                                               const v1::DescribeDatasetRequest* request,
                                               v1::DescribeDatasetResponse* response) {
    return answer(pool_, context, request, response, &agent::Inspection::dataset);
}

InspectService::Unary* InspectService::Steps(Context* context,
                                             const v1::SampleStepsRequest* request,
                                             v1::SampleStepsResponse* response) {
    return answer(pool_, context, request, response, &agent::Inspection::steps);
}

InspectService::Unary* InspectService::Preview(Context* context,
                                               const v1::PreviewSpecRequest* request,
                                               v1::PreviewSpecResponse* response) {
    return answer(previews_, context, request, response, &agent::Inspection::preview);
}

InspectService::Unary* InspectService::Pair(Context* context, const v1::PairRunsRequest* request,
                                            v1::PairRunsResponse* response) {
    return answer(pool_, context, request, response, &agent::Inspection::pair);
}

}  // namespace millrace::rpc

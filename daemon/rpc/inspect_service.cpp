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

template <class Ask>
grpc::ServerUnaryReactor* answerInTurn(CallPool& pool, grpc::CallbackServerContext* context,
                                       google::protobuf::Message* response, Ask ask) {
    return answerOn(pool, context, [context, response, ask = std::move(ask)] {
        const agent::IsUnwanted hasLeft = [context] { return context->IsCancelled(); };
        return hasLeft() ? cancelled("the client has gone") : fill(ask(hasLeft), response);
    });
}

}  // namespace

grpc::ServerUnaryReactor* InspectService::Check(Context* context,
                                                const v1::CheckSpecRequest* request,
                                                v1::CheckSpecResponse* response) {
    return answerInTurn(pool_, context, response,
                        [this, request](const agent::IsUnwanted& hasLeft) {
                            return inspection_.check(convert::fromProto(*request), hasLeft);
                        });
}

grpc::ServerUnaryReactor* InspectService::Dataset(Context* context,
                                                  const v1::DescribeDatasetRequest* request,
                                                  v1::DescribeDatasetResponse* response) {
    return answerInTurn(pool_, context, response,
                        [this, request](const agent::IsUnwanted& hasLeft) {
                            return inspection_.dataset(convert::fromProto(*request), hasLeft);
                        });
}

grpc::ServerUnaryReactor* InspectService::Steps(Context* context,
                                                const v1::SampleStepsRequest* request,
                                                v1::SampleStepsResponse* response) {
    return answerInTurn(pool_, context, response,
                        [this, request](const agent::IsUnwanted& hasLeft) {
                            return inspection_.steps(convert::fromProto(*request), hasLeft);
                        });
}

grpc::ServerUnaryReactor* InspectService::Preview(Context* context,
                                                  const v1::PreviewSpecRequest* request,
                                                  v1::PreviewSpecResponse* response) {
    return answerInTurn(previews_, context, response,
                        [this, request](const agent::IsUnwanted& hasLeft) {
                            return inspection_.preview(convert::fromProto(*request), hasLeft);
                        });
}

grpc::ServerUnaryReactor* InspectService::Pair(Context* context, const v1::PairRunsRequest* request,
                                               v1::PairRunsResponse* response) {
    return answerInTurn(pool_, context, response,
                        [this, request](const agent::IsUnwanted& hasLeft) {
                            return inspection_.pair(convert::fromProto(*request), hasLeft);
                        });
}

}  // namespace millrace::rpc

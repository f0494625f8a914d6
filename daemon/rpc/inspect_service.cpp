#include "daemon/rpc/inspect_service.h"

#include <google/protobuf/util/json_util.h>

#include "backend/core/text.h"
#include "proto/convert/rpc_options.h"

namespace millrace::rpc {
namespace {

agent::InspectRequest fromProto(const v1::SpecSource& source) {
    agent::InspectRequest spec;
    spec.text = source.spec_text();
    spec.fileName = source.file_name().empty() ? "spec.yaml" : source.file_name();
    spec.baseDir = source.base_dir();
    spec.sets = {source.sets().begin(), source.sets().end()};
    return spec;
}

agent::InspectRequest fromProto(const v1::CheckSpecRequest& request) {
    agent::InspectRequest check = fromProto(request.spec());
    check.isAll = request.all_variations();
    check.variations.emplace_back("");
    check.variations.insert(check.variations.end(), request.variations().begin(),
                            request.variations().end());
    return check;
}

agent::DatasetQuestion fromProto(const v1::DescribeDatasetRequest& request) {
    agent::DatasetQuestion question;
    question.paths = {request.paths().begin(), request.paths().end()};
    question.baseDir = request.base_dir();
    question.format = request.format();
    question.spec = fromProto(request.spec());
    question.filesMax = request.files_max();
    return question;
}

agent::StepsQuestion fromProto(const v1::SampleStepsRequest& request) {
    agent::StepsQuestion question;
    question.spec = fromProto(request.spec());
    question.variation = request.variation();
    question.rows = request.rows();
    question.split = request.split();
    question.firstRow = request.first_row();
    return question;
}

agent::PreviewQuestion fromProto(const v1::PreviewSpecRequest& request) {
    agent::PreviewQuestion question;
    question.spec = fromProto(request.spec());
    question.variation = request.variation();
    question.seconds = request.seconds();
    question.threads = request.threads();
    return question;
}

// The worker answers in the message's own JSON form; what else it says is for other readers.
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
                            return inspection_.check(fromProto(*request), hasLeft);
                        });
}

grpc::ServerUnaryReactor* InspectService::Dataset(Context* context,
                                                  const v1::DescribeDatasetRequest* request,
                                                  v1::DescribeDatasetResponse* response) {
    return answerInTurn(pool_, context, response,
                        [this, request](const agent::IsUnwanted& hasLeft) {
                            return inspection_.dataset(fromProto(*request), hasLeft);
                        });
}

grpc::ServerUnaryReactor* InspectService::Steps(Context* context,
                                                const v1::SampleStepsRequest* request,
                                                v1::SampleStepsResponse* response) {
    return answerInTurn(pool_, context, response,
                        [this, request](const agent::IsUnwanted& hasLeft) {
                            return inspection_.steps(fromProto(*request), hasLeft);
                        });
}

grpc::ServerUnaryReactor* InspectService::Preview(Context* context,
                                                  const v1::PreviewSpecRequest* request,
                                                  v1::PreviewSpecResponse* response) {
    return answerInTurn(previews_, context, response,
                        [this, request](const agent::IsUnwanted& hasLeft) {
                            return inspection_.preview(fromProto(*request), hasLeft);
                        });
}

}  // namespace millrace::rpc

#include "daemon/agent/inspector.h"

#include "backend/core/subprocess.h"

namespace millrace::agent {
namespace {

// The last line that a failed worker wrote, without its log prefix.
std::string lastWords(const std::string& text) {
    std::string_view rest(text);
    while (!rest.empty() && (rest.back() == '\n' || rest.back() == ' ')) {
        rest.remove_suffix(1);
    }
    constexpr std::size_t kMost = 500;
    return std::string(rest.substr(rest.rfind('\n') + 1).substr(0, kMost));
}

// A member that is a list; anything else counts as an empty one.
const Json& listOf(const Json& json, std::string_view key) {
    static const Json kNone = Json::array();
    const Json& member = jsonMember(json, key);
    return member.is_array() ? member : kNone;
}

spec::SpecError errorOf(const Json& json) {
    spec::SpecError error;
    error.message = jsonString(json, "message");
    error.line = static_cast<int>(jsonInt(json, "line"));
    error.column = static_cast<int>(jsonInt(json, "column"));
    error.code = jsonString(json, "code");
    error.path = jsonString(json, "path");
    return error;
}

Result<InspectedRun> runOf(const Json& json) {
    InspectedRun run;
    run.variation = jsonString(json, "variation");
    run.name = jsonString(json, "name");
    run.spec = jsonMember(json, "spec");
    run.specHash = jsonString(json, "spec_hash");
    run.streamHash = jsonString(json, "stream_hash");
    run.plan = jsonMember(json, "plan");
    run.planHash = jsonString(json, "plan_hash");
    if (!run.spec.is_object() || !run.plan.is_object()) {
        return internalError("inspect: a run without spec or plan");
    }
    for (const Json& warning : listOf(json, "warnings")) {
        run.warnings.push_back(warning.is_string() ? warning.get<std::string>()
                                                   : jsonString(warning, "message"));
    }
    return run;
}

}  // namespace

std::string formatInspectRequest(const InspectRequest& request) {
    Json json = {{"op", "resolve"},
                 {"text", request.text},
                 {"file_name", request.fileName},
                 {"base_dir", request.baseDir},
                 {"variations", request.variations},
                 {"sets", request.sets}};
    if (request.isAll) {
        json["variations"] = "all";
    }
    return dumpJson(json) + "\n";
}

Result<InspectReply> parseInspectReply(const std::string& text) {
    ASSIGN_OR_RETURN(const Json json, parseJson(text, "inspect's reply"));
    InspectReply reply;
    if (!jsonBool(json, "ok")) {
        for (const Json& error : listOf(json, "errors")) {
            reply.errors.push_back(errorOf(error));
        }
        if (reply.errors.empty()) {
            return internalError("inspect: refused the spec without a reason");
        }
        return reply;
    }
    for (const Json& run : listOf(json, "runs")) {
        ASSIGN_OR_RETURN(InspectedRun one, runOf(run));
        reply.runs.push_back(std::move(one));
    }
    if (reply.runs.empty()) {
        return internalError("inspect: found no run in the spec");
    }
    return reply;
}

Result<InspectReply> LoaderInspector::resolve(const InspectRequest& request) {
    SubprocessOptions options;
    options.argv = {options_.program, "inspect"};
    options.input = formatInspectRequest(request);
    options.timeout = options_.timeout;
    options.memoryLimitBytes = options_.memoryLimitBytes;
    const Result<SubprocessOutput> output = Subprocess::run(options);
    if (absl::IsDeadlineExceeded(output.status())) {
        return deadlineExceeded(request.fileName,
                                ": reading the spec and its dataset took more than ",
                                options_.timeout.count() / 1000, " s");
    }
    RETURN_IF_ERROR(output.status());
    if (output->out.empty()) {
        return internalError(request.fileName, ": millrace-loader inspect ended with code ",
                             output->exitCode, ": ", lastWords(output->err));
    }
    return parseInspectReply(output->out);
}

}  // namespace millrace::agent

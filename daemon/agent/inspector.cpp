#include "daemon/agent/inspector.h"

#include <charconv>
#include <cstring>
#include <optional>

#include "backend/runs/params.h"
#include "backend/text/json_slices.h"
#include "backend/text/text.h"
#include "backend/text/utf8.h"

namespace millrace::agent {
namespace {

constexpr std::string_view kCountValues = "count_values";

// Returns the last line that a failed worker wrote, without its log prefix.
std::string lastWords(const std::string& text) {
    std::string_view rest(text);
    while (!rest.empty() && (rest.back() == '\n' || rest.back() == ' ')) {
        rest.remove_suffix(1);
    }
    constexpr std::size_t kMost = 500;
    return toUtf8(rest.substr(rest.rfind('\n') + 1), kMost);
}

// "ended with code 3", "was ended by signal 11 (Segmentation fault)".
std::string endOf(int exitCode) {
    constexpr int kSignal = 128;
    if (exitCode <= kSignal) {
        return strCat("ended with code ", exitCode);
    }
    return strCat("was ended by signal ", exitCode - kSignal, " (", ::strsignal(exitCode - kSignal),
                  ")");
}

// Returns a member that is a list; anything else counts as an empty list.
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

// Returns the plan's own text; `run` holds it, or the number of an earlier run with the same plan.
Result<std::shared_ptr<const std::string>> planOf(std::string_view run,
                                                  const std::vector<InspectedRun>& earlier) {
    const std::optional<std::string_view> plan = jsonMemberText(run, "plan");
    if (plan.has_value() && plan->starts_with('{')) {
        return std::make_shared<const std::string>(*plan);
    }
    std::size_t number = earlier.size();
    if (plan.has_value()) {
        std::from_chars(plan->data(), plan->data() + plan->size(), number);
    }
    if (number >= earlier.size()) {
        return internalError("inspect: a run without plan");
    }
    return earlier[number].plan;
}

std::vector<std::string> textsOf(const Json& warnings) {
    std::vector<std::string> texts;
    for (const Json& warning : warnings) {
        texts.push_back(warning.is_string() ? warning.get<std::string>()
                                            : jsonString(warning, "message"));
    }
    return texts;
}

Result<InspectedRun> runOf(std::string_view text, const std::vector<InspectedRun>& earlier) {
    ASSIGN_OR_RETURN(const Json json,
                     parseJson(withJsonMember(text, "plan", "null"), "inspect's reply"));
    InspectedRun run;
    ASSIGN_OR_RETURN(run.plan, planOf(text, earlier));
    run.variation = jsonString(json, "variation");
    run.name = jsonString(json, "name");
    run.spec = jsonMember(json, "spec");
    run.specHash = jsonString(json, "spec_hash");
    run.streamHash = jsonString(json, "stream_hash");
    for (const char* fact : {"files", "splits", "rows", "bytes"}) {
        run.planFacts[fact] = jsonInt(json, fact);
    }
    run.planHash = jsonString(json, "plan_hash");
    if (!run.spec.is_object()) {
        return internalError("inspect: a run without spec");
    }
    run.warnings = textsOf(listOf(json, "warnings"));
    return run;
}

}  // namespace

Json inspectQuestion(const InspectRequest& request, std::string_view op) {
    Json json = {{"op", std::string(op)},
                 {"text", request.text},
                 {"file_name", request.fileName},
                 {"base_dir", request.baseDir},
                 {"variations", request.variations},
                 {"sets", request.sets}};
    if (request.isAll) {
        json["variations"] = "all";
    }
    if (!request.searchPath.empty()) {
        json["place"] = {{"path", request.searchPath}, {"directory", request.workingDirectory}};
    }
    return json;
}

Result<InspectReply> parseInspectReply(const std::string& text) {
    ASSIGN_OR_RETURN(const Json json,
                     parseJson(withJsonMember(text, "runs", "[]"), "inspect's reply"));
    InspectReply reply;
    if (!jsonBool(json, "ok")) {
        for (const Json& error : listOf(json, "errors")) {
            reply.errors.push_back(errorOf(error));
        }
        reply.warnings = textsOf(listOf(json, "warnings"));
        if (reply.errors.empty()) {
            return internalError("inspect: refused the spec without a reason");
        }
        return reply;
    }
    JsonElements runs(jsonMemberText(text, "runs").value_or(""));
    while (const std::optional<std::string_view> run = runs.next()) {
        ASSIGN_OR_RETURN(InspectedRun one, runOf(*run, reply.runs));
        reply.runs.push_back(std::move(one));
    }
    if (reply.runs.empty()) {
        return internalError("inspect: found no run in the spec");
    }
    return reply;
}

Result<runs::CountedSpec> countValues(Inspector& inspector, const std::string& resolvedSpec,
                                      const std::string& plan, const std::string& progressFile,
                                      const IsUnwanted& isUnwanted) {
    ASSIGN_OR_RETURN(const Json spec, parseJson(resolvedSpec, "resolved spec"));
    ASSIGN_OR_RETURN(const std::string answer, inspector.ask({{"op", std::string(kCountValues)},
                                                              {"spec", spec},
                                                              {"plan", plan},
                                                              {"progress", progressFile}},
                                                             "its values", isUnwanted));
    ASSIGN_OR_RETURN(const InspectReply reply, parseInspectReply(answer));
    if (!reply.errors.empty()) {
        return invalidArgument(reply.errors.front().message);
    }
    const InspectedRun& run = reply.runs.front();
    runs::CountedSpec counted;
    counted.resolvedSpec = dumpJson(run.spec);
    counted.specHash = run.specHash;
    counted.streamHash = run.streamHash;
    counted.planHash = run.planHash;
    counted.plan = run.plan;
    counted.params = runs::flattenParams(run.spec);
    return counted;
}

Result<InspectReply> LoaderInspector::resolve(const InspectRequest& request,
                                              const IsUnwanted& isUnwanted) {
    ASSIGN_OR_RETURN(const std::string answer,
                     ask(inspectQuestion(request), request.fileName, isUnwanted));
    return parseInspectReply(answer);
}

Result<std::string> LoaderInspector::ask(const Json& question, const std::string& about,
                                         const IsUnwanted& isUnwanted) {
    if (isEnding_) {
        return unavailable("the daemon is ending");
    }
    SubprocessOptions options;
    options.argv = {options_.program, "inspect"};
    Json whole = question;
    whole["trains_here"] = options_.trainsHere;
    options.input = dumpJson(whole) + "\n";
    if (jsonString(question, "op") != kCountValues) {  // counting has the spec's own limit
        options.timeout = options_.timeout;
        options.memoryLimitBytes = options_.memoryLimitBytes;
    }
    options.maxOutputBytes = options_.maxAnswerBytes;
    options.dieWithParent = true;
    options.isUnwanted = [&] { return isEnding_ || (isUnwanted && isUnwanted()); };
    Result<SubprocessOutput> output = Subprocess::run(options);
    if (absl::IsCancelled(output.status())) {
        return isEnding_ ? unavailable("the daemon is ending") : cancelled("the client has gone");
    }
    if (absl::IsDeadlineExceeded(output.status())) {
        return deadlineExceeded(about, ": reading the spec and its dataset took more than ",
                                static_cast<double>(options_.timeout.count()) / 1000, " s");
    }
    if (absl::IsResourceExhausted(output.status())) {
        return resourceExhausted(about, ": the answer is larger than ",
                                 formatBytes(static_cast<double>(options_.maxAnswerBytes)));
    }
    RETURN_IF_ERROR(output.status());
    if (output->exitCode == 0 && !output->out.empty()) {
        return std::move(output->out);
    }
    if (output->err.find("bad_alloc") != std::string::npos) {
        return resourceExhausted(about, ": reading it takes more memory than the ",
                                 formatBytes(static_cast<double>(options_.memoryLimitBytes)),
                                 " that are allowed");
    }
    const std::string words = lastWords(output->err);
    return internalError(about, ": millrace-loader inspect ", endOf(output->exitCode),
                         words.empty() ? "" : ": ", words);
}

}  // namespace millrace::agent

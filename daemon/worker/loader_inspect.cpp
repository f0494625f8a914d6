#include "daemon/worker/loader_inspect.h"

#include <cstdio>

#include <unistd.h>

#include "backend/core/json.h"
#include "backend/core/text.h"
#include "daemon/worker/loader_resolve.h"

namespace millrace::loader {
namespace {

constexpr std::size_t kMostRequestBytes = std::size_t{64} << 20;

Json refusal(const Status& status, std::string_view code) {
    return {{"ok", false},
            {"errors",
             {{{"message", std::string(messageOf(status))},
               {"line", 0},
               {"column", 0},
               {"path", ""},
               {"code", std::string(code)}}}}};
}

std::vector<std::string> textsOf(const Json& json) {
    std::vector<std::string> texts;
    if (json.is_string()) {
        texts.push_back(json.get<std::string>());
    }
    for (const Json& item : json.is_array() ? json : Json::array()) {
        if (item.is_string()) {
            texts.push_back(item.get<std::string>());
        }
    }
    return texts;
}

std::string currentDirectory() {
    char path[4096];
    return ::getcwd(path, sizeof path) == nullptr ? "/" : path;
}

std::string baseDirOf(const Json& request) {
    const std::string given = jsonString(request, "base_dir");
    return given.empty() ? currentDirectory() : given;
}

Json resolveAnswer(const Json& request, bool hasPlans) {
    ResolveRequest resolve;
    resolve.text = jsonString(request, "text");
    resolve.fileName = jsonString(request, "file_name", "spec");
    resolve.baseDir = baseDirOf(request);
    const Json& variations = jsonMember(request, "variations");
    resolve.isAll = variations.is_string() && variations.get<std::string>() == "all";
    if (!resolve.isAll) {
        resolve.variations = textsOf(variations);
    }
    resolve.sets = textsOf(jsonMember(request, "sets"));
    resolve.checksLabels = true;
    const ResolveReply reply = resolveSpec(resolve);
    if (!reply.errors.empty()) {
        Json errors = Json::array();
        for (const spec::SpecError& error : reply.errors) {
            errors.push_back(error.toJson());
        }
        return {{"ok", false}, {"errors", std::move(errors)}};
    }
    Json runs = Json::array();
    for (const ResolvedRun& run : reply.runs) {
        Json one = {{"variation", run.variation},     {"name", run.spec.name},
                    {"spec", run.spec.toJson()},      {"spec_hash", run.specHash},
                    {"stream_hash", run.streamHash},  {"plan_hash", run.planHash},
                    {"warnings", run.warnings},       {"rows", run.plan.numRows()},
                    {"files", run.plan.files.size()}, {"splits", run.plan.numSplits()}};
        if (hasPlans) {
            one["plan"] = run.plan.toJson();
        }
        runs.push_back(std::move(one));
    }
    return {{"ok", true}, {"runs", std::move(runs)}};
}

Json datasetAnswer(const Json& request) {
    const std::vector<std::string> paths = textsOf(jsonMember(request, "path"));
    if (paths.empty()) {
        return refusal(invalidArgument("inspect: op dataset needs a path"), "request");
    }
    dataset::ReadOptions options;
    options.format = jsonString(request, "format");
    if (options.format.empty()) {
        options.format = dataset::formatOfPath(paths.front());
    }
    if (options.format.empty()) {
        options.format = "parquet";
    }
    const auto opened = dataset::Dataset::open(paths, baseDirOf(request), options, factsCache());
    if (!opened.ok()) {
        return refusal(opened.status(), "file");
    }
    const Result<Json> described = dataset::describe(**opened);
    if (!described.ok()) {
        return refusal(described.status(), "file");
    }
    Json answer = *described;
    answer["ok"] = true;
    answer["schema_version"] = 1;
    return answer;
}

Json answerOf(std::string_view text) {
    const Result<Json> request = parseJson(text, "inspect's request");
    if (!request.ok()) {
        return refusal(request.status(), "request");
    }
    const std::string op = jsonString(*request, "op");
    if (op == "resolve" || op == "check") {
        return resolveAnswer(*request, op == "resolve");
    }
    if (op == "dataset") {
        return datasetAnswer(*request);
    }
    return refusal(invalidArgument("inspect: unknown op '", op, "'",
                                   nameHint(op, {"resolve", "check", "dataset"})),
                   "request");
}

}  // namespace

std::string answer(std::string_view request) {
    return dumpJson(answerOf(request)) + "\n";
}

int runInspect() {
    std::string request;
    char buffer[65536];
    for (ssize_t n; (n = ::read(STDIN_FILENO, buffer, sizeof buffer)) > 0;) {
        request.append(buffer, static_cast<std::size_t>(n));
        if (request.size() > kMostRequestBytes) {
            const std::string text = dumpJson(
                refusal(resourceExhausted("inspect: the request is larger than ",
                                          formatBytes(static_cast<double>(kMostRequestBytes))),
                        "limit"));
            std::puts(text.c_str());
            return 0;
        }
    }
    const std::string reply = answer(request);
    std::fwrite(reply.data(), 1, reply.size(), stdout);
    return std::fflush(stdout) == 0 ? 0 : 5;
}

}  // namespace millrace::loader

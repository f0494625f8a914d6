#include "daemon/worker/loader/questions/inspect.h"

#include <algorithm>
#include <map>
#include <set>

#include <unistd.h>

#include "backend/core/exit_codes.h"
#include "backend/dataset/description.h"
#include "backend/filesystem/files.h"
#include "backend/filesystem/paths.h"
#include "backend/profile/head.h"
#include "backend/spec/given_dataset.h"
#include "backend/spec/trainable.h"
#include "backend/spec/training/optimisation.h"
#include "backend/system/machine_memory.h"
#include "backend/text/json.h"
#include "backend/text/json_text.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/counting.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/memory.h"
#include "daemon/worker/loader/questions/preview.h"
#include "daemon/worker/loader/questions/sample.h"
#include "daemon/worker/loader/questions/scores.h"
#include "daemon/worker/loader/resolve.h"
#include "daemon/worker/loader/segments.h"

namespace millrace::loader {
namespace {

constexpr std::size_t kMostRequestBytes = std::size_t{256} << 20;  // includes a plan
constexpr std::int64_t kMostSampleRows = 1000;
// A check runs while a user types: it does not read the statistics of larger datasets.
constexpr std::int64_t kCheckStatisticsFiles = 64;

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

ResolveRequest resolveRequestOf(const Json& request) {
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
    resolve.trainsHere = jsonBool(request, "trains_here", true);
    const Json& place = jsonMember(request, "place");
    if (place.is_object()) {
        const std::string directory = jsonString(place, "directory");
        const char* own = std::getenv("PATH");
        resolve.place =
            job::CommandPlace{jsonString(place, "path", own == nullptr ? "" : own),
                              directory.empty() ? resolve.baseDir : directory, resolve.baseDir};
    }
    return resolve;
}

Json errorsJson(const spec::SpecErrors& errors, const std::string& fileName) {
    Json list = Json::array();
    for (const spec::SpecError& error : errors) {
        list.push_back(error.toJson());
        list.back()["file"] = fileName;
    }
    return list;
}

Json runJson(const ResolvedRun& run) {
    // Without a dataset there is nothing to count.
    const auto counted = [&](std::int64_t count) {
        return run.spec.hasDataset() ? Json(count) : Json();
    };
    return {{"variation", run.variation},
            {"name", run.spec.name},
            {"spec_hash", run.specHash},
            {"stream_hash", run.streamHash},
            {"plan_hash", run.planHash},
            {"warnings", run.warnings},
            {"rows", counted(run.plan.numRows())},
            {"files", counted(static_cast<std::int64_t>(run.plan.files.size()))},
            {"splits", counted(run.plan.numSplits())}};
}

std::int64_t bytesOf(const stream::Plan& plan) {
    std::int64_t bytes = 0;
    for (const stream::PlanFile& file : plan.files) {
        bytes += file.bytes;
    }
    return bytes;
}

/// Appends a run as text, keys sorted: the plan is too large for a tree.
void appendRun(const ResolvedRun& run, const std::string& plan, std::string* out) {
    Json members = runJson(run);
    members["bytes"] = bytesOf(run.plan);
    members["spec"] = run.spec.toJson();
    members["plan"] = nullptr;
    char before = '{';
    for (const auto& [name, member] : members.items()) {
        *out += before;
        before = ',';
        appendJsonText(name, out);
        *out += ':';
        *out += name == "plan" ? plan : dumpJson(member);
    }
    *out += '}';
}

/// Returns the first run that has this run's plan.
std::size_t planOwner(const std::vector<ResolvedRun>& runs, std::size_t run) {
    const auto isSame = [&](const ResolvedRun& other) {
        return other.planHash == runs[run].planHash && other.plan == runs[run].plan;
    };
    return static_cast<std::size_t>(std::find_if(runs.begin(), runs.end(), isSame) - runs.begin());
}

std::string resolveAnswer(const Json& request) {
    ResolveRequest resolve = resolveRequestOf(request);
    resolve.isForTraining = true;
    const ResolveReply reply = resolveSpec(resolve);
    if (!reply.errors.empty()) {
        return dumpJson({{"ok", false},
                         {"errors", errorsJson(reply.errors, resolve.fileName)},
                         {"warnings", reply.fileNotes}});
    }
    std::string text = R"({"ok":true,"runs":[)";
    for (std::size_t i = 0; i < reply.runs.size(); ++i) {
        const std::size_t owner = planOwner(reply.runs, i);
        text += i == 0 ? "" : ",";
        appendRun(reply.runs[i],
                  owner == i ? reply.runs[i].plan.toJsonText() : std::to_string(owner), &text);
    }
    text += "]}";
    return text;
}

// Counts the values that a run's resolved spec asks for, and answers with its new spec and plan.
std::string countAnswer(const Json& request) {
    const auto counted = [&]() -> Result<ResolvedRun> {
        ResolvedRun run;
        ASSIGN_OR_RETURN(run.spec, spec::RunSpec::fromJson(jsonMember(request, "spec")));
        ASSIGN_OR_RETURN(const Json plan, parseJson(jsonString(request, "plan"), "plan"));
        ASSIGN_OR_RETURN(run.plan, stream::Plan::fromJson(plan));
        run.variation = run.spec.variation;
        const spec::DatasetSpec& section = run.spec.dataset;
        ASSIGN_OR_RETURN(
            const auto dataset,
            dataset::Dataset::open(section.path, run.spec.baseDir, dataset::readOptionsOf(section),
                                   factsCache(), /*threads=*/4, pathsOf(run.plan.files)));
        CountingOptions options{dataset->version(), cacheDirectory(kCountedValues)};
        options.progress = [file = jsonString(request, "progress")](std::int64_t rows,
                                                                    std::int64_t allRows, double) {
            const Status told =
                writeFileAtomic(file, dumpJson({{"rows", rows}, {"all_rows", allRows}}), 0600);
            static_cast<void>(told);  // only for display
        };
        RETURN_IF_ERROR(countValues(run.spec, run.plan, options, run.countedValues));
        if (jsonBool(request, "trains_here", true)) {
            RETURN_IF_ERROR(spec::checkTableMemory(run.spec, machineMemory()));
        }
        hashRun(run);
        return run;
    }();
    if (!counted.ok()) {
        return dumpJson(refusal(counted.status(), "count"));
    }
    std::string text = R"({"ok":true,"runs":[)";
    appendRun(*counted, counted->plan.toJsonText(), &text);
    return text + "]}";
}

// Adds the dataset's columns and those that the recipe makes, as far as they are known.
void addColumns(const ResolveReply& reply, Json& answer) {
    answer["columns"] = answer["derived"] = Json::array();
    if (reply.dataset == nullptr) {
        return;
    }
    dataset::DescribeOptions options;
    options.statisticsMax = kCheckStatisticsFiles;
    const auto facts = dataset::columnFacts(*reply.dataset, options);
    if (!facts.ok()) {
        return;  // errors of the files are in the list, or are found when the files are read
    }
    for (const dataset::ColumnInfo& column : *facts) {
        answer["columns"].push_back(column.toJson());
    }
    for (const expr::Field& field : reply.columns.fields) {
        const expr::Field* own = reply.dataset->schema().find(field.name);
        if (own == nullptr || !own->type.isSame(field.type)) {
            answer["derived"].push_back({{"name", field.name},
                                         {"type", field.type.name()},
                                         {"is_nullable", field.type.nullable}});
        }
    }
}

// Names the runs that have a warning, before its text: "base, variation 'keep-30': "; "" if all
// have it.
std::string ownersText(const std::vector<std::string>& variations, std::size_t numRuns) {
    constexpr std::size_t kMostNamed = 3;
    std::string text;
    for (std::size_t i = 0; i < variations.size() && i < kMostNamed; ++i) {
        strAppend(&text, text.empty() ? "" : ", ",
                  variations[i].empty() ? "base" : strCat("variation '", variations[i], "'"));
    }
    if (variations.size() > kMostNamed) {
        strAppend(&text, ", and ", variations.size() - kMostNamed, " more");
    }
    return variations.size() == numRuns ? "" : text + ": ";
}

using Texts = std::vector<std::string> ResolvedRun::*;

// Warnings or notes of all runs, each once.
Json textsOf(const ResolveReply& reply, const std::string& fileName, Texts kind) {
    std::vector<std::string> texts;  // in their order
    std::map<std::string, std::vector<std::string>> owners;
    for (const ResolvedRun& run : reply.runs) {
        for (const std::string& text : run.*kind) {
            std::vector<std::string>& variations = owners[text];
            if (variations.empty()) {
                texts.push_back(text);
            }
            if (variations.empty() || variations.back() != run.variation) {
                variations.push_back(run.variation);
            }
        }
    }
    Json warnings = Json::array();
    for (const std::string& text : texts) {
        warnings.push_back(
            {{"message", ownersText(owners[text], reply.runs.size()) + text}, {"file", fileName}});
    }
    return warnings;
}

// Warnings of all runs, each once. A spec with errors has no runs: then the remarks on its files.
Json warningsOf(const ResolveReply& reply, const std::string& fileName) {
    if (reply.errors.empty()) {
        return textsOf(reply, fileName, &ResolvedRun::warnings);
    }
    Json list = Json::array();
    for (const std::string& note : reply.fileNotes) {
        list.push_back({{"message", note}, {"file", fileName}});
    }
    return list;
}

// Null for ranks on one node, which need no relay.
Json memoryOf(const ResolvedRun& run) {
    if (run.spec.train.nodes == 1) {
        return {};
    }
    const NodesMemory memory = NodesMemory::of(run.spec, run.plan);
    return {{"feed_bytes", memory.limit},
            {"relay_rings_bytes", memory.relay.all},
            {"data_worker_bytes", memory.limit},
            {"owed_bytes_per_rank", memory.owed},
            {"ranks_on_other_nodes", memory.ranks}};
}

Json checkAnswer(const Json& request) {
    ResolveRequest resolve = resolveRequestOf(request);
    resolve.isForTraining = true;
    resolve.wantsColumns = true;
    const ResolveReply reply = resolveSpec(resolve);
    Json runs = Json::array();
    for (const ResolvedRun& run : reply.runs) {
        runs.push_back(runJson(run));
        if (isPending(run.spec)) {  // the counted values are part of both
            runs.back()["spec_hash"] = runs.back()["stream_hash"] = "";
        }
        if (run.spec.hasDataset()) {
            addSegments(segmentSizeOf(run.plan), runs.back());
        }
        runs.back()["memory"] = memoryOf(run);
        runs.back()["optimisation"] = spec::describeOptimisation(run.spec);
        runs.back()["resolved_spec"] = dumpJson(run.spec.toJson());
    }
    Json answer = {{"ok", reply.errors.empty()},
                   {"errors", errorsJson(reply.errors, resolve.fileName)},
                   {"warnings", warningsOf(reply, resolve.fileName)},
                   {"notes", textsOf(reply, resolve.fileName, &ResolvedRun::countedValues)},
                   {"runs", std::move(runs)}};
    addColumns(reply, answer);
    return answer;
}

Json datasetOf(const std::vector<std::string>& paths, const Json& request,
               const files::ReadOptions& options) {
    const auto opened = dataset::Dataset::open(paths, baseDirOf(request), options, factsCache());
    if (!opened.ok()) {
        return refusal(opened.status(), "file");
    }
    if (jsonString(request, "op") == "head") {
        Result<Json> head = profile::headOf(*opened, jsonInt(request, "rows"));
        if (!head.ok()) {
            return refusal(head.status(), "file");
        }
        (*head)["ok"] = true;
        return *std::move(head);
    }
    dataset::DescribeOptions wanted;
    const std::int64_t filesMax = jsonInt(request, "files_max");
    wanted.filesMax = filesMax > 0 ? filesMax : wanted.filesMax;
    const Result<Json> described = dataset::describe(**opened, wanted);
    if (!described.ok()) {
        return refusal(described.status(), "file");
    }
    Json answer = *described;
    answer["ok"] = true;
    answer["schema_version"] = 1;
    return answer;
}

// Opens the dataset of a spec, even if other parts of the spec are wrong.
Json datasetOfSpec(const Json& request) {
    const ResolveRequest resolve = resolveRequestOf(request);
    const spec::SpecOptions options{resolve.fileName, resolve.baseDir, resolve.sets};
    const auto section = spec::readDataset(resolve.text, options);
    if (section) {
        return datasetOf(section->path, request, dataset::readOptionsOf(*section));
    }
    const spec::ResolvedSpec read = spec::readSpec(resolve.text, options);
    if (read.errors.empty()) {
        return refusal(invalidArgument(resolve.fileName, ": no dataset section"), "missing");
    }
    return {{"ok", false}, {"errors", errorsJson(read.errors, resolve.fileName)}};
}

Json datasetAnswer(const Json& request) {
    const std::vector<std::string> paths = textsOf(jsonMember(request, "path"));
    if (paths.empty() && !jsonString(request, "text").empty()) {
        return datasetOfSpec(request);
    }
    const std::int64_t rows = jsonInt(request, "rows", kMostSampleRows);
    if (paths.empty() || rows < 1 || rows > kMostSampleRows) {
        return refusal(invalidArgument("inspect: ops dataset and head need a path, and head 1 to ",
                                       kMostSampleRows, " rows"),
                       "request");
    }
    const Result<spec::DatasetSpec> section =
        spec::datasetOf(paths, jsonString(request, "format"), textsOf(jsonMember(request, "csv")));
    return section.ok() ? datasetOf(paths, request, dataset::readOptionsOf(*section))
                        : refusal(section.status(), "request");
}

Json stepsAnswer(const Json& request) {
    SampleRequest sample;
    sample.spec = resolveRequestOf(request);
    sample.variation = jsonString(request, "variation");
    sample.rows = jsonInt(request, "rows", sample.rows);
    sample.split = jsonInt(request, "split");
    sample.firstRow = jsonInt(request, "first_row");
    if (sample.rows < 1 || sample.rows > kMostSampleRows || sample.split < 0 ||
        sample.firstRow < 0) {
        return refusal(invalidArgument("inspect: op steps takes 1 to ", kMostSampleRows,
                                       " rows, and split and first_row from 0"),
                       "request");
    }
    SampleReply reply = sampleSteps(sample);
    return {{"ok", reply.errors.empty()},
            {"errors", errorsJson(reply.errors, sample.spec.fileName)},
            {"stages", std::move(reply.stages)},
            {"splits", reply.splits},
            {"split_rows", reply.splitRows}};
}

Json previewAnswer(const Json& request) {
    // Training on this machine has priority.
    (void)::nice(10);
    ResolveRequest resolve = resolveRequestOf(request);
    resolve.isAll = false;
    resolve.mayCount = true;
    resolve.variations = {jsonString(request, "variation")};
    ResolveReply reply = resolveSpec(resolve);
    if (!reply.errors.empty()) {
        return {{"ok", false}, {"errors", errorsJson(reply.errors, resolve.fileName)}};
    }
    PreviewOptions options;
    options.seconds = jsonReal(request, "seconds", options.seconds);
    options.threads = jsonInt(request, "threads");
    Result<Json> document = previewOf(std::move(reply.runs.front()), options);
    if (!document.ok()) {
        return refusal(document.status(), "preview");
    }
    (*document)["ok"] = true;
    return std::move(*document);
}

std::string answerOf(std::string_view text) {
    const Result<Json> request = parseJson(text, "inspect's request");
    if (!request.ok()) {
        return dumpJson(refusal(request.status(), "request"));
    }
    const std::string op = jsonString(*request, "op");
    if (op == "resolve") {
        return resolveAnswer(*request);
    }
    if (op == "count_values") {
        return countAnswer(*request);
    }
    if (op == "check") {
        return dumpJson(checkAnswer(*request));
    }
    if (op == "dataset" || op == "head") {
        return dumpJson(datasetAnswer(*request));
    }
    if (op == "steps") {
        return dumpJson(stepsAnswer(*request));
    }
    if (op == "preview") {
        return dumpJson(previewAnswer(*request));
    }
    if (op == "pair") {
        return dumpJson({{"ok", true}, {"pairs", pairRuns(jsonMember(*request, "runs"))}});
    }
    return dumpJson(
        refusal(invalidArgument("inspect: unknown op '", op, "'",
                                nameHint(op, {"resolve", "check", "dataset", "head", "steps",
                                              "preview", "pair", "count_values"})),
                "request"));
}

}  // namespace

std::string answer(std::string_view request) {
    std::string text = answerOf(request);
    text += '\n';
    return text;
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
            return endWith(text + "\n");
        }
    }
    return endWith(answer(request));
}

}  // namespace millrace::loader

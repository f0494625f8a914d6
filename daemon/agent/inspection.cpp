#include "daemon/agent/inspection.h"

#include <algorithm>
#include <cctype>

#include "backend/stream/file_changes.h"
#include "backend/text/text.h"
#include "daemon/agent/run/run_directory.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kDefaultRows = 50, kMostRows = 1000;
constexpr std::int64_t kMostFiles = 10'000;
constexpr double kPreviewSeconds = 3, kMostPreviewSeconds = 30;
constexpr std::int64_t kMostThreads = 4'096;
constexpr std::size_t kMostFileDifferences = 20;

bool isAbsolute(const std::string& path) {
    return !path.empty() && path.front() == '/';
}

// Checks that the id has only the characters of ids, so that it names a run's directory and no
// other path.
bool isRunId(const std::string& id) {
    return id.starts_with("r-") && id.size() > 2 && id.size() <= 64 &&
           std::all_of(id.begin() + 2, id.end(), [](unsigned char c) {
               return std::islower(c) != 0 || std::isdigit(c) != 0;
           });
}

// A number in a message that needs more than 63 bits arrives as a negative one.
Status checkPlace(std::string_view what, std::int64_t number) {
    return number >= 0 ? okStatus() : invalidArgument(what, ": must be 0 to 2^63 - 1");
}

Result<stream::PlanFiles> filesOf(const ReadPlan& readPlan, const std::string& run) {
    ASSIGN_OR_RETURN(const std::string plan, readPlan(run));
    return stream::PlanFiles::parse(plan);
}

// Adds what differs between the files of both runs to their pair.
void addFiles(const stream::FileChanges& changes, const std::string& first, Json& pair) {
    if (changes.isEvalContentOther && jsonBool(pair, "has_scores")) {
        const std::string run = jsonString(pair, "run");
        pair = {{"run", run},
                {"has_scores", false},
                {"problem",
                 strCat(first, " and ", run, " were evaluated on files of different content")}};
    }
    pair["knows_files"] = true;
    pair["evaluated_other_content"] = changes.isEvalContentOther;
    pair["trained_on_other_files"] = changes.isTrainOther;
    pair["files_total"] = changes.files.size();
    Json files = Json::array();
    for (const stream::FileChange& file : changes.files) {
        if (files.size() < kMostFileDifferences) {
            files.push_back({{"path", file.path},
                             {"hash_of_first", file.hashOfFirst},
                             {"bytes_of_first", file.bytesOfFirst},
                             {"hash", file.hash},
                             {"bytes", file.bytes}});
        }
    }
    pair["files"] = std::move(files);
}

}  // namespace

InspectRequest inspectRequestOf(const values::SpecSource& spec) {
    InspectRequest request;
    request.text = spec.text;
    request.fileName = spec.fileName.empty() ? "spec.yaml" : spec.fileName;
    request.baseDir = spec.baseDir;
    request.sets = spec.sets;
    return request;
}

InspectRequest inspectRequestOf(const values::SubmitRequest& submit) {
    InspectRequest request = inspectRequestOf(
        values::SpecSource{submit.specText, submit.fileName, submit.baseDir, submit.sets});
    request.isAll = submit.allVariations;
    const auto path = submit.place.environment.find("PATH");
    request.searchPath = path == submit.place.environment.end() ? "" : path->second;
    request.workingDirectory = submit.place.workingDirectory;
    if (!submit.withoutBase && !submit.variations.empty()) {
        request.variations.emplace_back("");
    }
    request.variations.insert(request.variations.end(), submit.variations.begin(),
                              submit.variations.end());
    return request;
}

Status checkSpecText(const InspectRequest& spec, std::int64_t maxBytes) {
    const auto bytes = static_cast<std::int64_t>(spec.text.size());
    if (bytes > maxBytes) {
        return invalidArgument(spec.fileName, ": has ", formatBytes(static_cast<double>(bytes)),
                               "; a spec has at most ", formatBytes(static_cast<double>(maxBytes)));
    }
    if (!isAbsolute(spec.baseDir)) {
        return invalidArgument("base directory '", spec.baseDir, "': must be absolute");
    }
    return okStatus();
}

Result<std::string> Inspection::check(const values::CheckRequest& request,
                                      const IsUnwanted& isUnwanted) const {
    InspectRequest question = inspectRequestOf(request.spec);
    question.isAll = request.allVariations;
    if (!request.withoutBase || request.variations.empty()) {
        question.variations.emplace_back("");
    }
    question.variations.insert(question.variations.end(), request.variations.begin(),
                               request.variations.end());
    RETURN_IF_ERROR(checkSpecText(question, maxSpecBytes_));
    return inspector_.ask(inspectQuestion(question, "check"), question.fileName, isUnwanted);
}

Result<std::string> Inspection::dataset(const values::DatasetRequest& request,
                                        const IsUnwanted& isUnwanted) const {
    Json json;
    std::string about;
    if (request.paths.empty()) {
        const InspectRequest spec = inspectRequestOf(request.spec);
        if (spec.text.empty()) {
            return invalidArgument("dataset: neither paths nor a spec to take them from");
        }
        RETURN_IF_ERROR(checkSpecText(spec, maxSpecBytes_));
        json = inspectQuestion(spec, "dataset");
        about = spec.fileName;
    } else {
        const bool needsBase = !std::all_of(request.paths.begin(), request.paths.end(), isAbsolute);
        if (needsBase && !isAbsolute(request.baseDir)) {
            return invalidArgument("base directory '", request.baseDir,
                                   "': must be absolute for relative paths");
        }
        json = {{"op", "dataset"}, {"path", request.paths}, {"format", request.format}};
        json["base_dir"] = request.baseDir.empty() ? "/" : request.baseDir;
        about = request.paths.front();
    }
    json["files_max"] = std::clamp<std::int64_t>(request.filesMax, 0, kMostFiles);
    return inspector_.ask(json, about, isUnwanted);
}

Result<std::string> Inspection::steps(const values::StepsRequest& request,
                                      const IsUnwanted& isUnwanted) const {
    const InspectRequest spec = inspectRequestOf(request.spec);
    RETURN_IF_ERROR(checkSpecText(spec, maxSpecBytes_));
    if (request.rows > kMostRows) {
        return invalidArgument("rows: ", request.rows, " are too many; at most ", kMostRows);
    }
    RETURN_IF_ERROR(checkPlace("split", request.split));
    RETURN_IF_ERROR(checkPlace("first_row", request.firstRow));
    Json json = inspectQuestion(spec, "steps");
    json["variation"] = request.variation;
    json["rows"] = request.rows == 0 ? kDefaultRows : request.rows;
    json["split"] = request.split;
    json["first_row"] = request.firstRow;
    return inspector_.ask(json, spec.fileName, isUnwanted);
}

Result<std::string> Inspection::preview(const values::PreviewRequest& request,
                                        const IsUnwanted& isUnwanted) const {
    const InspectRequest spec = inspectRequestOf(request.spec);
    RETURN_IF_ERROR(checkSpecText(spec, maxSpecBytes_));
    if (!(request.seconds >= 0 && request.seconds <= kMostPreviewSeconds)) {
        return invalidArgument("seconds: ", request.seconds, ": must be 0 to ",
                               kMostPreviewSeconds);
    }
    if (request.threads < 0 || request.threads > kMostThreads) {
        return invalidArgument("threads: ", request.threads, ": must be 0 to ", kMostThreads);
    }
    Json json = inspectQuestion(spec, "preview");
    json["variation"] = request.variation;
    json["seconds"] = request.seconds == 0 ? kPreviewSeconds : request.seconds;
    json["threads"] = request.threads;
    return inspector_.ask(json, spec.fileName, isUnwanted);
}

Result<std::string> Inspection::pair(const values::PairRequest& request,
                                     const IsUnwanted& isUnwanted) const {
    if (request.runs.size() < 2 || request.runs.size() > values::kPairsMost) {
        return invalidArgument("runs: ", request.runs.size(), " cannot be paired; 2 to ",
                               values::kPairsMost, " can");
    }
    Json runs = Json::array();
    for (const std::string& id : request.runs) {
        if (!isRunId(id)) {
            return invalidArgument("runs: '", id, "' is not an id of a run");
        }
        runs.push_back({{"id", id}, {"directory", RunDirectory(runsDir_, id).checkpointsPath()}});
    }
    ASSIGN_OR_RETURN(std::string answer,
                     inspector_.ask({{"op", "pair"}, {"runs", runs}}, "scores", isUnwanted));
    const auto first = filesOf(readPlan_, request.runs.front());
    if (!first.ok()) {
        return answer;  // the run was purged
    }
    ASSIGN_OR_RETURN(Json pairs, parseJson(answer, "scores"));
    for (Json& pair : pairs["pairs"]) {
        const auto other = filesOf(readPlan_, jsonString(pair, "run"));
        if (other.ok()) {
            addFiles(stream::fileChanges(*first, *other), request.runs.front(), pair);
        }
    }
    return dumpJson(pairs);
}

}  // namespace millrace::agent

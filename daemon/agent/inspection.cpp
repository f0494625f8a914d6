#include "daemon/agent/inspection.h"

#include <algorithm>
#include <limits>

#include "backend/core/text.h"

namespace millrace::agent {
namespace {

constexpr std::uint64_t kDefaultRows = 50, kMostRows = 1000;
constexpr std::int64_t kMostFiles = 10'000;
constexpr double kPreviewSeconds = 3, kMostPreviewSeconds = 30;
constexpr std::int64_t kMostThreads = 4'096;

bool isAbsolute(const std::string& path) {
    return !path.empty() && path.front() == '/';
}

Status checkPlace(std::string_view what, std::uint64_t number) {
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return invalidArgument(what, ": ", number, " is too large");
    }
    return okStatus();
}

}  // namespace

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

Result<std::string> Inspection::check(const InspectRequest& request,
                                      const IsUnwanted& isUnwanted) const {
    RETURN_IF_ERROR(checkSpecText(request, maxSpecBytes_));
    return inspector_.ask(inspectQuestion(request, "check"), request.fileName, isUnwanted);
}

Result<std::string> Inspection::dataset(const DatasetQuestion& question,
                                      const IsUnwanted& isUnwanted) const {
    Json json;
    std::string about;
    if (question.paths.empty()) {
        if (question.spec.text.empty()) {
            return invalidArgument("dataset: neither paths nor a spec to take them from");
        }
        RETURN_IF_ERROR(checkSpecText(question.spec, maxSpecBytes_));
        json = inspectQuestion(question.spec, "dataset");
        about = question.spec.fileName;
    } else {
        const bool needsBase =
            !std::all_of(question.paths.begin(), question.paths.end(), isAbsolute);
        if (needsBase && !isAbsolute(question.baseDir)) {
            return invalidArgument("base directory '", question.baseDir,
                                   "': must be absolute for relative paths");
        }
        json = {{"op", "dataset"}, {"path", question.paths}, {"format", question.format}};
        json["base_dir"] = question.baseDir.empty() ? "/" : question.baseDir;
        about = question.paths.front();
    }
    json["files_max"] = std::clamp<std::int64_t>(question.filesMax, 0, kMostFiles);
    return inspector_.ask(json, about, isUnwanted);
}

Result<std::string> Inspection::steps(const StepsQuestion& question,
                                      const IsUnwanted& isUnwanted) const {
    RETURN_IF_ERROR(checkSpecText(question.spec, maxSpecBytes_));
    if (question.rows > kMostRows) {
        return invalidArgument("rows: ", question.rows, " are too many; at most ", kMostRows);
    }
    RETURN_IF_ERROR(checkPlace("split", question.split));
    RETURN_IF_ERROR(checkPlace("first_row", question.firstRow));
    Json json = inspectQuestion(question.spec, "steps");
    json["variation"] = question.variation;
    json["rows"] = question.rows == 0 ? kDefaultRows : question.rows;
    json["split"] = question.split;
    json["first_row"] = question.firstRow;
    return inspector_.ask(json, question.spec.fileName, isUnwanted);
}

Result<std::string> Inspection::preview(const PreviewQuestion& question,
                                        const IsUnwanted& isUnwanted) const {
    RETURN_IF_ERROR(checkSpecText(question.spec, maxSpecBytes_));
    if (!(question.seconds >= 0 && question.seconds <= kMostPreviewSeconds)) {
        return invalidArgument("seconds: ", question.seconds, ": must be 0 to ",
                               kMostPreviewSeconds);
    }
    if (question.threads < 0 || question.threads > kMostThreads) {
        return invalidArgument("threads: ", question.threads, ": must be 0 to ", kMostThreads);
    }
    Json json = inspectQuestion(question.spec, "preview");
    json["variation"] = question.variation;
    json["seconds"] = question.seconds == 0 ? kPreviewSeconds : question.seconds;
    json["threads"] = question.threads;
    return inspector_.ask(json, question.spec.fileName, isUnwanted);
}

}  // namespace millrace::agent

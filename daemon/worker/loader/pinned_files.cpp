#include "daemon/worker/loader/pinned_files.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include <fcntl.h>

#include "backend/core/files.h"
#include "backend/core/json.h"
#include "backend/core/unique_fd.h"
#include "backend/system/write_all.h"

namespace millrace::loader {
namespace {

constexpr std::size_t kBytesMax = std::size_t{1} << 30;

std::vector<std::string> pathsOf(const std::vector<stream::PlanFile>& files) {
    std::vector<std::string> paths;
    paths.reserve(files.size());
    for (const stream::PlanFile& file : files) {
        paths.push_back(file.relativePath);
    }
    return paths;
}

Status keepOnly(const std::vector<std::string>& pinned, std::vector<stream::PlanFile>& files) {
    std::set<std::string> missing(pinned.begin(), pinned.end());
    std::erase_if(
        files, [&](const stream::PlanFile& file) { return missing.erase(file.relativePath) == 0; });
    return missing.empty() ? okStatus()
                           : failedPrecondition(
                                 "dataset.path: the stream that this state was taken from reads '",
                                 *missing.begin(),
                                 "', which is not among the files any more; "
                                 "put it back, or start without the state");
}

// Partitions are numbered by the files that remain: closes the gaps of others.
void renumberPartitions(std::vector<stream::PlanFile>& files) {
    std::map<std::int64_t, std::int64_t> numbers;
    for (const stream::PlanFile& file : files) {
        for (const stream::PlanSplit& split : file.splits) {
            numbers[split.partition] = 0;
        }
    }
    std::int64_t next = 0;
    for (auto& [was, number] : numbers) {
        number = next++;
    }
    for (stream::PlanFile& file : files) {
        for (stream::PlanSplit& split : file.splits) {
            split.partition = numbers[split.partition];
        }
    }
}

}  // namespace

PinnedFiles PinnedFiles::of(const stream::Plan& plan) {
    return {pathsOf(plan.files), pathsOf(plan.evalFiles), plan.segmentSplits};
}

Result<PinnedFiles> PinnedFiles::parse(std::string_view text) {
    ASSIGN_OR_RETURN(const Json json, parseJson(text, "pinned files"));
    PinnedFiles pinned;
    pinned.segmentSplits = jsonInt(json, "segment_splits");
    for (const auto& [key, paths] :
         {std::pair("files", &pinned.files), std::pair("eval_files", &pinned.evalFiles)}) {
        for (const Json& path : jsonMember(json, key)) {
            if (!path.is_string()) {
                return invalidArgument("pinned files: ", key, " has ", dumpJson(path),
                                       ", which is not a path");
            }
            paths->push_back(path.get<std::string>());
        }
    }
    return pinned.files.empty() || pinned.segmentSplits < 1
               ? invalidArgument("pinned files: no files, or no segment_splits")
               : Result<PinnedFiles>(std::move(pinned));
}

std::string PinnedFiles::toText() const {
    return dumpJson(
        {{"files", files}, {"eval_files", evalFiles}, {"segment_splits", segmentSplits}});
}

Status PinnedFiles::pin(stream::Plan& plan) const {
    RETURN_IF_ERROR(keepOnly(files, plan.files));
    RETURN_IF_ERROR(keepOnly(evalFiles, plan.evalFiles));
    renumberPartitions(plan.files);
    return okStatus();
}

Result<std::optional<PinnedFiles>> readPinned(const std::string& path) {
    if (path.empty()) {
        return std::optional<PinnedFiles>();
    }
    ASSIGN_OR_RETURN(const std::string text, readFile(path, kBytesMax));
    if (text.empty()) {
        return std::optional<PinnedFiles>();
    }
    ASSIGN_OR_RETURN(PinnedFiles pinned, PinnedFiles::parse(text));
    return std::optional(std::move(pinned));
}

Status writePinned(const std::string& path, const stream::Plan& plan) {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (!fd.isOpen()) {
        return errnoStatus(errno, path);
    }
    return writeAll(fd.get(), PinnedFiles::of(plan).toText()) ? okStatus()
                                                              : errnoStatus(errno, path);
}

}  // namespace millrace::loader

#include "daemon/worker/loader/pinned_files.h"

#include <cerrno>

#include <fcntl.h>

#include "backend/core/unique_fd.h"
#include "backend/core/whole_io.h"
#include "backend/filesystem/files.h"
#include "backend/text/json.h"

namespace millrace::loader {
namespace {

constexpr std::size_t kBytesMax = std::size_t{1} << 30;

}  // namespace

std::vector<std::string> pathsOf(const std::vector<stream::PlanFile>& files) {
    std::vector<std::string> paths;
    paths.reserve(files.size());
    for (const stream::PlanFile& file : files) {
        paths.push_back(file.relativePath);
    }
    return paths;
}

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

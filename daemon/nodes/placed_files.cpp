#include "daemon/nodes/part_files.h"

#include <filesystem>

#include <unistd.h>

#include "backend/core/files.h"
#include "backend/job/attempt_paths.h"
#include "backend/job/job_file.h"

namespace millrace::nodes {
namespace {

constexpr std::size_t kPartBytesMost = std::size_t{4} << 20;

std::string partFile(const job::AttemptPaths& paths) {
    return paths.directory() + "/part.json";
}

}  // namespace

Status layOutPart(const std::string& runsDir, const agent::PartPlacement& placement,
                  const std::string& interface) {
    const agent::PartName& name = placement.name;
    const job::AttemptPaths paths = job::RunPaths(runsDir, name.run).attempt(name.attempt);
    RETURN_IF_ERROR(makeDirectories(paths.directory(), 0700));
    RETURN_IF_ERROR(writeFileAtomic(paths.joinFile(), placement.joinFile, 0600));
    if (::access(partFile(paths).c_str(), F_OK) == 0) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(job::JobFile job, job::JobFile::fromText(placement.jobFile));
    job.moveTo(paths);
    RETURN_IF_ERROR(job.write(paths.jobFile()));
    ASSIGN_OR_RETURN(engines::Group ranks, engines::groupFromText(placement.ranks));
    if (ranks.isUsers && !interface.empty()) {
        ranks.environment.try_emplace("GLOO_SOCKET_IFNAME", interface);
    }
    return writeFileAtomic(partFile(paths), engines::groupText(ranks), 0600);
}

Result<engines::Gang> partGangOf(const std::string& runsDir, const agent::PartName& name,
                                 const std::string& binDir) {
    const job::AttemptPaths paths = job::RunPaths(runsDir, name.run).attempt(name.attempt);
    ASSIGN_OR_RETURN(const std::string text, readFile(partFile(paths), kPartBytesMost));
    auto ranks = engines::groupFromText(text);
    if (!ranks.ok()) {
        return annotate(ranks.status(), partFile(paths));
    }
    return agent::partGang(name, std::move(*ranks), paths.jobFile(), binDir);
}

Status checkProbe(const agent::PartPlacement& placement) {
    const Result<std::string> text = readFile(placement.probePath, kPartBytesMost);
    if (text.ok() && *text == placement.probeText) {
        return okStatus();
    }
    const std::string directory = std::filesystem::path(placement.probePath).parent_path().string();
    return failedPrecondition(
        "does not see the run's checkpoints: ", directory,
        text.ok() ? " is another directory here" : strCat(" (", messageOf(text.status()), ")"),
        "; ranks on several nodes need the head's state directory (millraced --state-dir) on a "
        "file system that all of them mount at this path");
}

}  // namespace millrace::nodes

#include "daemon/nodes/placed_files.h"

#include <filesystem>

#include <unistd.h>

#include "backend/core/transient.h"
#include "backend/filesystem/files.h"
#include "backend/job/attempt_paths.h"
#include "backend/job/job_file.h"
#include "daemon/transport/join_file.h"

namespace millrace::nodes {
namespace {

constexpr std::size_t kGangBytesMost = std::size_t{4} << 20;
constexpr std::size_t kJoinBytesMost = std::size_t{1} << 20;

Result<job::AttemptPaths> attemptOf(const std::string& runsDir, const std::string& key) {
    const auto owner = job::ownerOf(key);
    if (!owner.has_value()) {
        return invalidArgument("gang ", key, ": is of no attempt");
    }
    return job::RunPaths(runsDir, owner->run).attempt(owner->attempt);
}

std::string gangFile(const job::AttemptPaths& paths, const std::string& key) {
    return strCat(paths.directory(), "/placed.", key.substr(key.rfind('.') + 1), ".json");
}

// Whether the feed that leads is here, so that the attempt's join file is its own.
bool leadsHere(const job::AttemptPaths& paths, const std::string& key) {
    const auto owner = job::ownerOf(key);
    const std::string lead = agent::PartName{owner->run, owner->attempt, 0}.key();
    return ::access(gangFile(paths, lead).c_str(), F_OK) == 0;
}

// A part's file is also valid for a data worker of the same feed, and for more.
bool hasWiderFile(const job::AttemptPaths& paths, const std::string& text) {
    const auto here = transport::JoinFile::read(paths.joinFile());
    return here.ok() && !here->relayToken.empty() && here->ofDataWorker().toText() == text;
}

}  // namespace

Status layOut(const std::string& runsDir, const agent::Placement& placement,
              const std::string& interface) {
    ASSIGN_OR_RETURN(const job::AttemptPaths paths, attemptOf(runsDir, placement.key));
    RETURN_IF_ERROR(makeDirectories(paths.directory(), 0700));
    if (!placement.joinFile.empty() && !leadsHere(paths, placement.key) &&
        !hasWiderFile(paths, placement.joinFile)) {
        RETURN_IF_ERROR(writeFileAtomic(paths.joinFile(), placement.joinFile, 0600));
    }
    const std::string path = gangFile(paths, placement.key);
    if (::access(path.c_str(), F_OK) == 0) {
        return okStatus();
    }
    if (!placement.jobFile.empty()) {
        ASSIGN_OR_RETURN(job::JobFile job, job::JobFile::fromText(placement.jobFile));
        const bool seesCheckpoints = !placement.probePath.empty();
        job.moveTo(paths, seesCheckpoints);
        if (!seesCheckpoints) {
            RETURN_IF_ERROR(makeDirectories(paths.checkpoints(), 0700));
        }
        RETURN_IF_ERROR(job.write(paths.jobFile()));
    }
    ASSIGN_OR_RETURN(engines::Gang gang, engines::gangFromText(placement.gang));
    for (engines::Group& group : gang.groups) {
        if (group.isUsers && group.place.nodes > 1 && !interface.empty()) {
            group.environment.try_emplace("GLOO_SOCKET_IFNAME", interface);
        }
    }
    return writeFileAtomic(path, engines::gangText(gang), 0600);
}

Result<engines::Gang> placedGang(const std::string& runsDir, const std::string& key,
                                 const std::string& binDir, const std::string& node) {
    ASSIGN_OR_RETURN(const job::AttemptPaths paths, attemptOf(runsDir, key));
    const std::string path = gangFile(paths, key);
    ASSIGN_OR_RETURN(const std::string text, readFile(path, kGangBytesMost));
    auto gang = engines::gangFromText(text);
    if (!gang.ok()) {
        return annotate(gang.status(), path);
    }
    agent::settle(*gang, binDir, paths.directory(), node);
    return gang;
}

std::string joinFileOfLead(const std::string& runsDir, const std::string& key) {
    const auto part = agent::PartName::parse(key);
    if (!part.has_value() || part->part != 0) {
        return "";
    }
    const job::RunPaths run(runsDir, part->run);
    return readFile(run.attempt(part->attempt).joinFile(), kJoinBytesMost).value_or("");
}

Status checkProbe(const agent::Placement& placement) {
    if (placement.probePath.empty()) {
        return okStatus();
    }
    const Result<std::string> text = readFile(placement.probePath, kGangBytesMost);
    if (text.ok() && *text == placement.probeText) {
        return okStatus();
    }
    if (mayPass(text.status())) {
        return text.status();
    }
    const std::string directory = std::filesystem::path(placement.probePath).parent_path().string();
    return failedPrecondition(
        "does not see the run's checkpoints: ", directory,
        text.ok() ? " is another directory here" : strCat(" (", messageOf(text.status()), ")"),
        "; the head's 'checkpoints' (millraced.yaml) is to name a directory that all nodes mount "
        "at "
        "this path; without it checkpoints are handed over");
}

}  // namespace millrace::nodes

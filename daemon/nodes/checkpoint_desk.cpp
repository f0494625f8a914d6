#include "daemon/nodes/checkpoint_desk.h"

#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/checkpoint/checkpoint_directory.h"
#include "backend/checkpoint/partial_file.h"
#include "backend/core/files.h"
#include "backend/core/hash.h"
#include "backend/core/log.h"
#include "backend/core/unique_fd.h"
#include "backend/job/job_file.h"

namespace millrace::nodes {
namespace {

using checkpoint::CheckpointName;
using checkpoint::PartialFile;

/// One of the calls, as long as it lives.
class Place {
 public:
    explicit Place(std::atomic<int>& numCalls) : numCalls_(numCalls), number_(++numCalls) {}
    ~Place() { --numCalls_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    Status check() const {
        return number_ <= CheckpointDesk::kCallsMost
                   ? okStatus()
                   : unavailable("the head moves ", CheckpointDesk::kCallsMost,
                                 " checkpoints at once; this one comes later");
    }

 private:
    std::atomic<int>& numCalls_;
    const int number_;
};

v1::FileState stateOf(std::uint64_t offset, bool isKept) {
    v1::FileState state;
    state.set_offset(offset);
    state.set_is_kept(isKept);
    return state;
}

Status callEnded() {
    return unavailable("the agent ended the transfer");
}

}  // namespace

Status CheckpointDesk::take(const Caller& caller, HandedOver& stream) {
    const Place place(numCalls_);
    RETURN_IF_ERROR(place.check());
    const Status status = takeAll(caller, stream);
    if (absl::IsResourceExhausted(status) || absl::IsDataLoss(status)) {
        logWarn("nodes: a checkpoint is not taken",
                {{"run", caller.run}, {"attempt", caller.attempt}, {"why", messageOf(status)}});
    }
    return status;
}

// The name is the attempt's own: a node names no other file here.
Status CheckpointDesk::takeAll(const Caller& caller, HandedOver& stream) const {
    RETURN_IF_ERROR(table_.takesFiles(caller.session, caller.run, caller.attempt));
    v1::FilePart part;
    if (!stream.Read(&part)) {
        return callEnded();
    }
    const auto name = CheckpointName::parse(part.name());
    if (!name.has_value() || name->attempt != caller.attempt) {
        return invalidArgument("hand-over: '", part.name(), "' is not a checkpoint of attempt ",
                               caller.attempt);
    }
    const std::string directory = job::RunPaths(runsDir_, caller.run).checkpoints();
    const std::string path = strCat(directory, "/", name->text());
    RETURN_IF_ERROR(makeDirectories(directory, 0700));
    const UniqueFd here(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (here.isOpen()) {  // an earlier transfer, whose last word was not heard
        ASSIGN_OR_RETURN(const auto facts,
                         checkpoint::verify(here.get(), path, {caller.hasLeft, {}}));
        RETURN_IF_ERROR(keepWhole(caller, path, facts));
        return stream.Write(stateOf(part.bytes(), true)) ? okStatus() : callEnded();
    }
    ASSIGN_OR_RETURN(PartialFile file, PartialFile::open(path, part.bytes()));
    bool isOpen = stream.Write(stateOf(file.offset(), false));
    while (isOpen && !file.isAllHere() && stream.Read(&part)) {
        RETURN_IF_ERROR(table_.takesFiles(caller.session, caller.run, caller.attempt));
        RETURN_IF_ERROR(file.append(part.offset(), part.data(), part.hash()));
        isOpen = stream.Write(stateOf(file.offset(), false));
    }
    if (!file.isAllHere()) {
        return callEnded();
    }
    ASSIGN_OR_RETURN(const auto facts, file.finish({caller.hasLeft, {}}));
    RETURN_IF_ERROR(keepWhole(caller, path, facts));
    logInfo("nodes: received a checkpoint", {{"run", caller.run}, {"file", name->text()}});
    return stream.Write(stateOf(file.offset(), true)) ? okStatus() : callEnded();
}

Status CheckpointDesk::keepWhole(const Caller& caller, const std::string& path,
                                 const checkpoint::CheckpointFacts& facts) const {
    const CheckpointName name{facts.step, static_cast<int>(facts.attempt)};
    if (name.text() != std::filesystem::path(path).filename()) {
        return invalidArgument("hand-over: ", path, " holds the checkpoint ", name.text());
    }
    const Status kept = keep_(caller.run, facts);
    const bool isOver = absl::IsFailedPrecondition(kept) || absl::IsNotFound(kept);
    return isOver ? Status(absl::StatusCode::kAborted, std::string(messageOf(kept))) : kept;
}

// Which file it is, the job of the attempt says.
Status CheckpointDesk::give(const Caller& caller, const v1::FileWanted& wanted,
                            Fetched& stream) const {
    const auto mayHave = [&] {
        return table_.partWorkers(caller.session, caller.run, caller.attempt).empty()
                   ? unavailable("attempt ", caller.attempt, " of run ", caller.run,
                                 " has no part on this agent's node")
                   : okStatus();
    };
    RETURN_IF_ERROR(mayHave());
    const job::AttemptPaths paths = job::RunPaths(runsDir_, caller.run).attempt(caller.attempt);
    ASSIGN_OR_RETURN(const job::JobFile job, job::JobFile::read(paths.jobFile()));
    const std::string& path = wanted.is_init() ? job.initFrom : job.resume;
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info{};
    if (!fd.isOpen() || ::fstat(fd.get(), &info) != 0) {
        return errnoStatus(errno, path);
    }
    const auto bytes = static_cast<std::uint64_t>(info.st_size);
    v1::FilePart part;
    part.set_name(std::filesystem::path(path).filename().string());
    part.set_bytes(bytes);
    bool isOpen = stream.Write(part);
    std::uint64_t offset = wanted.offset() > bytes ? 0 : wanted.offset();
    std::string chunk(PartialFile::kChunkBytes, '\0');
    while (isOpen && offset < bytes) {
        RETURN_IF_ERROR(mayHave());
        const ssize_t n = ::pread(fd.get(), chunk.data(), chunk.size(), static_cast<off_t>(offset));
        if (n <= 0) {
            return n < 0 ? errnoStatus(errno, path) : dataLoss(path, ": has become shorter");
        }
        part = {};
        part.set_offset(offset);
        part.set_data(chunk.data(), static_cast<std::size_t>(n));
        part.set_hash(hashHex(part.data()));
        offset += static_cast<std::uint64_t>(n);
        isOpen = stream.Write(part);
    }
    return isOpen ? okStatus() : callEnded();
}

}  // namespace millrace::nodes

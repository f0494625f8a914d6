#include "daemon/nodes/checkpoint_transfers.h"

#include <filesystem>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/checkpoint/checkpoint_directory.h"
#include "backend/checkpoint/partial_file.h"
#include "backend/core/hash.h"
#include "backend/core/log.h"
#include "backend/core/unique_fd.h"
#include "backend/filesystem/files.h"
#include "backend/job/job_file.h"
#include "backend/scores/score_file.h"

namespace millrace::nodes {
namespace {

using checkpoint::CheckpointName;
using checkpoint::PartialFile;

/// Counts one of the calls while it exists.
class Place {
 public:
    explicit Place(std::atomic<int>& numCalls) : numCalls_(numCalls), number_(++numCalls) {}
    ~Place() { --numCalls_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    Status check() const {
        return number_ <= CheckpointTransfers::kCallsMost
                   ? okStatus()
                   : unavailable("the head moves ", CheckpointTransfers::kCallsMost,
                                 " files at once; this one comes later");
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

/// One file that is being received: a checkpoint, or the scores of an evaluation.
class CheckpointTransfers::Arrival {
 public:
    /// `first`: the agent's description of the file. The name must be one of the attempt: a node
    /// cannot name any other file here.
    static Result<Arrival> of(const CheckpointTransfers& transfers, const Caller& caller,
                              const v1::FilePart& first) {
        const auto checkpoint = CheckpointName::parse(first.name());
        const auto scores = scores::ScoreName::parse(first.name());
        const std::int64_t attempt = checkpoint ? checkpoint->attempt
                                     : scores   ? scores->attempt
                                                : 0;
        if (attempt != caller.attempt) {
            return invalidArgument("hand-over: '", first.name(), "' is neither a checkpoint nor ",
                                   "scores of attempt ", caller.attempt);
        }
        Arrival arrival(transfers, caller);
        arrival.checkpoint_ = checkpoint;
        arrival.scores_ = scores;
        arrival.hash_ = first.hash();
        arrival.directory_ = job::RunPaths(transfers.runsDir_, caller.run).checkpoints();
        return arrival;
    }
    const std::string& directory() const { return directory_; }
    std::string name() const { return checkpoint_ ? checkpoint_->text() : scores_->text(); }
    std::string path() const { return strCat(directory_, "/", name()); }

    Status verify(int fd) {
        if (scores_) {
            return scores::verifyScores(fd, path());
        }
        ASSIGN_OR_RETURN(facts_, checkpoint::verify(fd, path(), {caller_.hasLeft, {}}));
        return okStatus();
    }
    /// Returns whether an earlier transfer already brought the same file, if the agent did not
    /// receive its confirmation. Compares contents, because an evaluation of the same step may have
    /// been repeated.
    Result<bool> isHere() {
        const UniqueFd fd(::open(path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        struct stat info{};
        if (!fd.isOpen() || ::fstat(fd.get(), &info) != 0) {
            return false;
        }
        if (scores_) {
            const auto bytes = static_cast<std::uint64_t>(info.st_size);
            ASSIGN_OR_RETURN(const std::string hash,
                             checkpoint::hashOfChunks(fd.get(), bytes, path()));
            return hash == hash_;
        }
        RETURN_IF_ERROR(verify(fd.get()));
        return true;
    }
    /// Called when the file is whole and on disk: it counts from now on.
    Status keep() const {
        if (scores_) {
            scores::dropOthers(directory_, *scores_);
            return okStatus();
        }
        const CheckpointName inside{facts_.step, static_cast<int>(facts_.attempt)};
        if (inside != *checkpoint_) {
            return invalidArgument("hand-over: ", path(), " holds the checkpoint ", inside.text());
        }
        const Status kept = transfers_.keep_(caller_.run, facts_);
        const bool isOver = absl::IsFailedPrecondition(kept) || absl::IsNotFound(kept);
        return isOver ? Status(absl::StatusCode::kAborted, std::string(messageOf(kept))) : kept;
    }

 private:
    Arrival(const CheckpointTransfers& transfers, const Caller& caller)
        : transfers_(transfers), caller_(caller) {}

    const CheckpointTransfers& transfers_;
    const Caller& caller_;
    std::optional<CheckpointName> checkpoint_;
    std::optional<scores::ScoreName> scores_;
    std::string hash_;  ///< of scores
    std::string directory_;
    checkpoint::CheckpointInfo facts_;
};

Status CheckpointTransfers::take(const Caller& caller, HandedOver& stream) {
    const Place place(numCalls_);
    RETURN_IF_ERROR(place.check());
    const Status status = takeAll(caller, stream);
    if (absl::IsResourceExhausted(status) || absl::IsDataLoss(status)) {
        logWarn("nodes: a file is not taken",
                {{"run", caller.run}, {"attempt", caller.attempt}, {"why", messageOf(status)}});
    }
    return status;
}

Status CheckpointTransfers::takeAll(const Caller& caller, HandedOver& stream) const {
    RETURN_IF_ERROR(table_.takesFiles(caller.session, caller.run, caller.attempt));
    v1::FilePart part;
    if (!stream.Read(&part)) {
        return callEnded();
    }
    ASSIGN_OR_RETURN(Arrival arrival, Arrival::of(*this, caller, part));
    RETURN_IF_ERROR(makeDirectories(arrival.directory(), 0700));
    ASSIGN_OR_RETURN(const bool isHere, arrival.isHere());
    if (isHere) {
        RETURN_IF_ERROR(arrival.keep());
        return stream.Write(stateOf(part.bytes(), true)) ? okStatus() : callEnded();
    }
    ASSIGN_OR_RETURN(PartialFile file, PartialFile::open(arrival.path(), part.bytes()));
    bool isOpen = stream.Write(stateOf(file.offset(), false));
    while (isOpen && !file.isAllHere() && stream.Read(&part)) {
        RETURN_IF_ERROR(table_.takesFiles(caller.session, caller.run, caller.attempt));
        RETURN_IF_ERROR(file.append(part.offset(), part.data(), part.hash()));
        isOpen = stream.Write(stateOf(file.offset(), false));
    }
    if (!file.isAllHere()) {
        return callEnded();
    }
    RETURN_IF_ERROR(file.finish([&](int fd) { return arrival.verify(fd); }));
    const Status kept = arrival.keep();
    if (absl::IsAborted(kept) || absl::IsInvalidArgument(kept)) {  // nothing else would remove it
        ::unlink(arrival.path().c_str());
    }
    RETURN_IF_ERROR(kept);
    logInfo("nodes: received a file", {{"run", caller.run}, {"file", arrival.name()}});
    return stream.Write(stateOf(file.offset(), true)) ? okStatus() : callEnded();
}

// The job of the attempt determines which file it is.
Status CheckpointTransfers::give(const Caller& caller, const v1::FileWanted& wanted,
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
    while (isOpen && offset < bytes) {
        RETURN_IF_ERROR(mayHave());
        ASSIGN_OR_RETURN(std::string chunk, checkpoint::readChunk(fd.get(), offset, path));
        part = {};
        part.set_offset(offset);
        part.set_hash(hashHex(chunk));
        offset += chunk.size();
        part.set_data(std::move(chunk));
        isOpen = stream.Write(part);
    }
    return isOpen ? okStatus() : callEnded();
}

}  // namespace millrace::nodes

#include "daemon/nodes/file_mover.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/checkpoint/partial_file.h"
#include "backend/core/hash.h"
#include "backend/core/log.h"
#include "backend/core/stop_wait.h"
#include "backend/core/unique_fd.h"
#include "backend/job/job_file.h"
#include "backend/scores/score_file.h"
#include "backend/text/text.h"
#include "daemon/agent/crew/nodes.h"
#include "daemon/transport/transport.h"
#include "millrace/v1/agent.grpc.pb.h"

namespace millrace::nodes {
namespace {

using checkpoint::CheckpointDirectory;
using checkpoint::CheckpointName;
using checkpoint::PartialFile;

std::string nameOf(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

/// A call to the head for one file; a stop cancels it.
class Call {
 public:
    Status open(const FileMoverOptions& options, const std::string& key) {
        const auto file = transport::JoinFile::read(options.joinPath);
        if (!file.ok()) {  // the head may still write the file
            return unavailable(messageOf(file.status()));
        }
        ASSIGN_OR_RETURN(const auto channel, transport::openChannel(*file));
        const auto part = agent::PartName::parse(key);
        stub = v1::Agents::NewStub(channel);
        context.AddMetadata("millrace-tunnel-key-bin", options.tunnelKey);
        context.AddMetadata("millrace-run", part->run);
        context.AddMetadata("millrace-attempt", std::to_string(part->attempt));
        return okStatus();
    }
    grpc::ClientContext context;
    std::unique_ptr<v1::Agents::Stub> stub;
};

bool areScores(const std::string& path) {
    return scores::ScoreName::parse(nameOf(path)).has_value();
}

Status verify(int fd, const std::string& path) {
    return areScores(path) ? scores::verifyScores(fd, path) : checkpoint::verify(fd, path).status();
}

// Returns a text for people. A newly connected agent may send before it is attached: that error
// passes by itself, so it has no text.
std::string troubleOf(const Status& failure) {
    return absl::IsUnauthenticated(failure) ? "" : std::string(messageOf(failure));
}

// Looks at the file, because the lane does not know the size before the transfer begins; 0: it
// cannot be read.
std::uint64_t sizeOf(const std::string& path, const TransferLane::Standing& standing) {
    std::error_code error;
    const std::uintmax_t size =
        standing.bytes > 0 ? standing.bytes : std::filesystem::file_size(path, error);
    return error ? 0 : size;
}

// Renames a file that the head refused for good, so that it is not sent again.
Status setAsideIfUnfit(const std::string& path, int fd, const Status& why) {
    const bool isForeign = absl::IsInvalidArgument(why) || absl::IsFailedPrecondition(why);
    const bool isDamaged = absl::IsDataLoss(why) && absl::IsDataLoss(verify(fd, path));
    if (!isForeign && !isDamaged) {
        return why;
    }
    const char* suffix = isForeign ? "foreign" : "damaged";
    std::string aside = strCat(nameOf(path), ".", suffix);
    if (const auto name = CheckpointName::parse(nameOf(path))) {
        ASSIGN_OR_RETURN(
            const auto directory,
            CheckpointDirectory::open(std::filesystem::path(path).parent_path().string()));
        ASSIGN_OR_RETURN(aside, directory.setAside(*name, suffix));
    } else if (::rename(path.c_str(), strCat(path, ".", suffix).c_str()) != 0) {
        return errnoStatus(errno, path);
    }
    return annotate(why, strCat("set aside as ", aside));
}

}  // namespace

FileMover::FileMover(FileMoverOptions options)
    : options_(std::move(options)),
      out_("hand-over", [this](const Order& order, const auto& stop) { return give(order, stop); }),
      in_("fetch", [this](const Order& order, const auto& stop) { return bring(order, stop); }) {}

std::optional<job::AttemptPaths> FileMover::pathsOf(const std::string& key) const {
    const auto part = agent::PartName::parse(key);
    return part.has_value()
               ? std::optional(job::RunPaths(options_.runsDir, part->run).attempt(part->attempt))
               : std::nullopt;
}

void FileMover::drop(const std::string& key) {
    out_.drop(key);
    in_.drop(key);
    given_.erase(key);
    wanted_.erase(key);
}

// Oldest first. Removes the files that the head has, except the newest of all, because rank 0 may
// be about to give it its second name.
Result<FileMover::Names> FileMover::unsent(const CheckpointDirectory& directory, int attempt,
                                           const std::set<CheckpointName>& kept) const {
    ASSIGN_OR_RETURN(Names names, directory.list());
    std::reverse(names.begin(), names.end());
    Names left;
    for (const CheckpointName& name : names) {
        if (name.attempt == attempt && !kept.contains(name)) {
            left.push_back(name);
        } else if (name != names.back()) {
            RETURN_IF_ERROR(directory.remove(name));
        }
    }
    while (left.size() > kMostWaiting + 1) {
        logWarn("slot: a checkpoint is skipped, as newer ones wait for the link to the head",
                {{"file", directory.pathOf(left[1])}});
        RETURN_IF_ERROR(directory.remove(left[1]));
        left.erase(left.begin() + 1);
    }
    return left;
}

std::optional<values::HandOver> FileMover::handOver(const std::string& key) {
    const auto paths = pathsOf(key);
    const auto part = agent::PartName::parse(key);
    if (!paths.has_value() || part->part != 0) {
        return std::nullopt;
    }
    Given& given = given_[key];
    if (given.isGivenUp) {
        return std::nullopt;
    }
    const auto directory = CheckpointDirectory::open(paths->checkpoints());
    if (absl::IsNotFound(directory.status())) {
        return std::nullopt;  // the head sees what it writes
    }
    Result<Names> left = directory.ok() ? unsent(*directory, part->attempt, given.kept)
                                        : Result<Names>(directory.status());
    if (!left.ok()) {
        return values::HandOver{.trouble = std::string(messageOf(left.status()))};
    }
    while (!left->empty()) {
        const TransferLane::Standing now = out_.move(key, directory->pathOf(left->front()));
        given.isGivenUp = absl::IsAborted(now.failure);
        if (given.isGivenUp) {
            return std::nullopt;
        }
        if (!now.isDone) {
            return values::HandOver{left->front().step,
                                    sizeOf(directory->pathOf(left->front()), now), now.done,
                                    static_cast<int>(left->size()) - 1, troubleOf(now.failure)};
        }
        given.kept.insert(left->front());
        left->erase(left->begin());
    }
    return handOverScores(key, paths->checkpoints(), given);
}

// Scores are not removed: the rank replaces them.
std::optional<values::HandOver> FileMover::handOverScores(const std::string& key,
                                                          const std::string& directory,
                                                          Given& given) {
    const auto path = scores::findScores(directory);
    struct stat info{};
    if (!path.ok() || ::stat(path->c_str(), &info) != 0) {
        return std::nullopt;  // no evaluation, or they are being replaced
    }
    const ScoresFile file{*path, info.st_ino,
                          info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec};
    if (file == given.scores) {
        return std::nullopt;
    }
    if (given.movingScores.path != file.path) {
        given.movingScores = file;
    }
    const TransferLane::Standing now = out_.move(key, file.path);
    given.isGivenUp = absl::IsAborted(now.failure);
    if (given.isGivenUp) {
        return std::nullopt;
    }
    if (now.isDone) {
        out_.drop(key);  // scores that replaced them meanwhile are another order
        given.scores = std::exchange(given.movingScores, {});
        return given.scores == file ? std::nullopt : handOverScores(key, directory, given);
    }
    return values::HandOver{scores::ScoreName::parse(nameOf(file.path))->step,
                            sizeOf(file.path, now),
                            now.done,
                            0,
                            troubleOf(now.failure),
                            true};
}

Status FileMover::give(const Order& order, const std::stop_token& stop) {
    const UniqueFd fd(::open(order.path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info{};
    if (!fd.isOpen() || ::fstat(fd.get(), &info) != 0) {
        return errnoStatus(errno, order.path);
    }
    const auto bytes = static_cast<std::uint64_t>(info.st_size);
    out_.tell(order, bytes, 0);
    Call call;
    RETURN_IF_ERROR(call.open(options_, order.key));
    const std::stop_callback cancel(stop, [&] { call.context.TryCancel(); });
    const auto stream = call.stub->HandOver(&call.context);
    v1::FilePart part;
    part.set_name(nameOf(order.path));
    part.set_bytes(bytes);
    if (areScores(order.path)) {
        ASSIGN_OR_RETURN(*part.mutable_hash(),
                         checkpoint::hashOfChunks(fd.get(), bytes, order.path));
    }
    v1::FileState state;
    bool isOpen = stream->Write(part) && stream->Read(&state);
    part = {};
    const auto begun = std::chrono::steady_clock::now();
    std::uint64_t sent = 0;
    Status broken = okStatus();
    while (isOpen && !state.is_kept()) {
        out_.tell(order, bytes, state.offset());
        if (state.offset() < bytes) {
            Result<std::string> chunk = checkpoint::readChunk(fd.get(), state.offset(), order.path);
            broken = chunk.status();
            if (!broken.ok()) {
                call.context.TryCancel();
                break;
            }
            sent += chunk->size();
            part.set_offset(state.offset());
            part.set_hash(hashHex(*chunk));
            part.set_data(*std::move(chunk));
            const std::chrono::microseconds due(sent / options_.rateMb);
            waitForStop(stop, begun + due - std::chrono::steady_clock::now());
            isOpen = stream->Write(part);
        }
        isOpen = isOpen && stream->Read(&state);
    }
    if (isOpen) {
        stream->WritesDone();
    }
    Status status = transport::toStatus(stream->Finish());
    status = broken.ok() ? status : broken;
    if (status.ok() && !state.is_kept()) {
        return unavailable("the head ended the transfer");
    }
    return setAsideIfUnfit(order.path, fd.get(), status);
}

Status FileMover::fetch(const std::string& key) {
    const auto paths = pathsOf(key);
    if (!paths.has_value()) {
        return okStatus();
    }
    auto wanted = wanted_.find(key);
    if (wanted == wanted_.end()) {
        ASSIGN_OR_RETURN(const job::JobFile job, job::JobFile::read(paths->jobFile()));
        wanted = wanted_.emplace(key, std::vector{job.resume, job.initFrom}).first;
        std::erase_if(wanted->second, [&](const std::string& path) {
            return std::filesystem::path(path).parent_path() != paths->directory();
        });
    }
    for (const std::string& path : wanted->second) {
        if (::access(path.c_str(), F_OK) == 0) {
            continue;
        }
        const TransferLane::Standing now = in_.move(key, path);
        if (absl::IsNotFound(now.failure)) {
            return now.failure;
        }
        const std::string why = troubleOf(now.failure);
        const std::string done = now.bytes == 0
                                     ? ""
                                     : strCat(": ", formatBytes(static_cast<double>(now.done)),
                                              " of ", formatBytes(static_cast<double>(now.bytes)));
        return unavailable("fetches ", nameOf(path), " from the head", done,
                           why.empty() ? "" : "; ", why);
    }
    return okStatus();
}

Status FileMover::bring(const Order& order, const std::stop_token& stop) {
    ASSIGN_OR_RETURN(const job::JobFile job, job::JobFile::read(pathsOf(order.key)->jobFile()));
    Call call;
    RETURN_IF_ERROR(call.open(options_, order.key));
    const std::stop_callback cancel(stop, [&] { call.context.TryCancel(); });
    v1::FileWanted wanted;
    wanted.set_is_init(order.path == job.initFrom);
    wanted.set_offset(PartialFile::bytesOf(order.path));
    const auto stream = call.stub->Fetch(&call.context, wanted);
    v1::FilePart part;
    if (!stream->Read(&part)) {
        const Status status = transport::toStatus(stream->Finish());
        return status.ok() ? unavailable("the head ended the transfer") : status;
    }
    const std::uint64_t bytes = part.bytes();
    Result<PartialFile> file = PartialFile::open(order.path, bytes);
    Status status = file.status();
    while (status.ok() && !file->isAllHere() && stream->Read(&part)) {
        status = file->append(part.offset(), part.data(), part.hash());
        in_.tell(order, bytes, file->offset());
    }
    if (!status.ok()) {
        call.context.TryCancel();
    }
    const Status ended = transport::toStatus(stream->Finish());
    RETURN_IF_ERROR(status);
    if (!file->isAllHere()) {
        return ended.ok() ? unavailable("the head ended the transfer") : ended;
    }
    return file->finish([&](int fd) {
        return checkpoint::verify(fd, order.path, {[&] { return stop.stop_requested(); }, {}})
            .status();
    });
}

}  // namespace millrace::nodes

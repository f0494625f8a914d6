#include "tests/sim/sim_files.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fcntl.h>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/checkpoint/partial_file.h"
#include "backend/core/hash.h"
#include "backend/core/unique_fd.h"
#include "backend/filesystem/files.h"
#include "backend/job/job_file.h"
#include "daemon/agent/run/checkpoints/checkpoint_catalogue.h"
#include "tests/sim/cluster_head.h"

namespace millrace::sim {
namespace {

using checkpoint::CheckpointDirectory;
using checkpoint::CheckpointName;

constexpr std::size_t kMostWaiting = 3;  // as FileMover
constexpr std::int64_t kFirstBackoffNs = 200 * kMs, kMostBackoffNs = 5 * kSecond;

std::string nameOf(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

job::AttemptPaths pathsOf(const Machine& machine, const agent::PartName& part) {
    return job::RunPaths(machine.root + "/runs", part.run).attempt(part.attempt);
}

Result<checkpoint::CheckpointInfo> factsOf(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    return fd.isOpen() ? checkpoint::verify(fd.get(), path) : errnoStatus(errno, path);
}

/// Writes the received data as a transfer does.
Status writeAll(const std::string& path, const std::string& data) {
    ASSIGN_OR_RETURN(auto file, checkpoint::PartialFile::open(path, data.size()));
    while (!file.isAllHere()) {
        const std::string chunk = data.substr(file.offset(), checkpoint::PartialFile::kChunkBytes);
        RETURN_IF_ERROR(file.append(file.offset(), chunk, hashHex(chunk)));
    }
    return file.finish([&](int fd) { return checkpoint::verify(fd, path).status(); });
}

}  // namespace

void SimFiles::drop(const std::string& key) {
    given_.erase(key);
    out_.erase(key);
    in_.erase(key);
}

// Unsent checkpoints, oldest first. Removes those that the head has, except the newest.
Result<SimFiles::Names> SimFiles::unsent(const job::AttemptPaths& paths, int attempt,
                                         const Given& given) const {
    ASSIGN_OR_RETURN(const auto directory, CheckpointDirectory::open(paths.checkpoints()));
    ASSIGN_OR_RETURN(Names names, directory.list());
    std::reverse(names.begin(), names.end());
    Names left;
    for (const CheckpointName& name : names) {
        if (name.attempt == attempt && !given.kept.contains(name)) {
            left.push_back(name);
        } else if (name != names.back()) {
            RETURN_IF_ERROR(directory.remove(name));
        }
    }
    while (left.size() > kMostWaiting + 1) {
        RETURN_IF_ERROR(directory.remove(left[1]));
        left.erase(left.begin() + 1);
    }
    return left;
}

std::optional<values::HandOver> SimFiles::handOver(const std::string& key) {
    const auto part = agent::PartName::parse(key);
    if (!part.has_value() || part->part != 0 || given_[key].isGivenUp) {
        return std::nullopt;
    }
    Given& given = given_[key];
    const job::AttemptPaths paths = pathsOf(machine_, *part);
    Result<Names> left = unsent(paths, part->attempt, given);
    if (absl::IsNotFound(left.status())) {
        return std::nullopt;
    }
    if (!left.ok()) {
        return values::HandOver{.trouble = std::string(messageOf(left.status()))};
    }
    for (const CheckpointName& name : *left) {
        const Transfer& now = move(out_, key, strCat(paths.checkpoints(), "/", name.text()));
        given.isGivenUp = absl::IsAborted(now.failure);
        if (given.isGivenUp) {
            cluster_.world.tell(strCat(machine_.name, ": ", name.text(), " of ", key,
                                       " is given up: ", messageOf(now.failure)));
            return std::nullopt;
        }
        if (!now.isDone) {
            return values::HandOver{.step = name.step,
                                    .trouble = std::string(messageOf(now.failure))};
        }
        given.kept.insert(name);
    }
    return std::nullopt;
}

Status SimFiles::fetch(const std::string& key) {
    const auto part = agent::PartName::parse(key);
    if (!part.has_value()) {
        return okStatus();
    }
    const job::AttemptPaths paths = pathsOf(machine_, *part);
    ASSIGN_OR_RETURN(const job::JobFile job, job::JobFile::read(paths.jobFile()));
    const bool isWanted = std::filesystem::path(job.resume).parent_path() == paths.directory() &&
                          !std::filesystem::exists(job.resume);
    if (!isWanted) {
        return okStatus();
    }
    const Transfer& now = move(in_, key, job.resume);
    return absl::IsNotFound(now.failure) ? now.failure
                                         : unavailable("fetches ", nameOf(job.resume),
                                                       " from the head: ", messageOf(now.failure));
}

const SimFiles::Transfer& SimFiles::move(Transfers& transfers, const std::string& key,
                                         const std::string& path) {
    std::shared_ptr<Transfer>& transfer = transfers[key];
    if (transfer == nullptr || transfer->path != path) {
        transfer = std::make_shared<Transfer>();
        transfer->path = path;
    }
    if (!transfer->isMoving && !transfer->isDone && cluster_.world.nowNs() >= transfer->dueNs) {
        transfer->isMoving = true;
        &transfers == &out_ ? give(key, transfer) : bring(key, transfer);
    }
    return *transfer;
}

namespace {

/// The end of a transfer on the agent's side, if the transfer is still wanted.
template <typename Transfer>
auto ending(Machine& machine, const std::shared_ptr<Transfer>& transfer,
            std::function<Status(const std::string&)> arrive) {
    return [&machine, weak = std::weak_ptr<Transfer>(transfer),
            arrive = std::move(arrive)](const Result<std::string>& answer) {
        machine.agent.after(0, [&machine, weak, arrive, answer] {
            const auto open = weak.lock();
            if (open == nullptr) {
                return;
            }
            const Status status = answer.ok() ? arrive(*answer) : answer.status();
            open->isMoving = false;
            open->isDone = status.ok();
            open->failure = status;
            open->backoffNs = std::clamp(2 * open->backoffNs, kFirstBackoffNs, kMostBackoffNs);
            open->dueNs = machine.agent.nowNs() + open->backoffNs;
        });
    };
}

}  // namespace

void SimFiles::give(const std::string& key, const std::shared_ptr<Transfer>& transfer) {
    const auto done =
        ending(machine_, transfer, [](const std::string&) -> Status { return okStatus(); });
    const Result<std::string> data = readFile(transfer->path);
    if (!data.ok()) {
        return done(data.status());
    }
    cluster_.links().ask(
        machine_,
        [&cluster = cluster_, &machine = machine_, part = *agent::PartName::parse(key),
         name = nameOf(transfer->path), data = *data]() -> Result<std::string> {
            Cluster::Head& head = *cluster.head_;
            const auto session = cluster.links().sessionOf(machine);
            RETURN_IF_ERROR(session == nullptr
                                ? unavailable("this agent is not attached")
                                : head.table->takesFiles(*session, part.run, part.attempt));
            const std::string runs = cluster.head().root + "/runs";
            const std::string folder = job::RunPaths(runs, part.run).checkpoints();
            const std::string path = folder + "/" + name;
            RETURN_IF_ERROR(makeDirectories(folder, 0700));
            const bool isHere = std::filesystem::exists(path);
            RETURN_IF_ERROR(isHere ? okStatus() : writeAll(path, data));
            ASSIGN_OR_RETURN(const auto facts, factsOf(path));
            const Status kept = agent::CheckpointCatalogue(*head.store, runs).add(part.run, facts);
            if (absl::IsFailedPrecondition(kept) || absl::IsNotFound(kept)) {
                isHere ? false : std::filesystem::remove(path);  // as CheckpointTransfers
                return Status(absl::StatusCode::kAborted, std::string(messageOf(kept)));
            }
            RETURN_IF_ERROR(kept);
            const auto run = head.store->get(part.run);
            if (run.ok() && values::isEnded(run->state)) {
                cluster.judge_->cameLate(part.run);
            }
            for (Rank* rank : ranksOf(cluster.machines_, part.run, part.attempt)) {
                rank->state.rank == 0 ? rank->savedAtHead(facts.step) : void();
            }
            cluster.world.tell("the head has " + name);
            return name;
        },
        done);
}

void SimFiles::bring(const std::string& key, const std::shared_ptr<Transfer>& transfer) {
    const auto done = ending(machine_, transfer, [path = transfer->path](const std::string& data) {
        return writeAll(path, data);
    });
    cluster_.links().ask(
        machine_,
        [&cluster = cluster_, &machine = machine_,
         part = *agent::PartName::parse(key)]() -> Result<std::string> {
            const auto session = cluster.links().sessionOf(machine);
            if (session == nullptr ||
                cluster.head_->table->partWorkers(*session, part.run, part.attempt).empty()) {
                return unavailable("it has no part on this node");
            }
            ASSIGN_OR_RETURN(const job::JobFile job,
                             job::JobFile::read(pathsOf(cluster.head(), part).jobFile()));
            return readFile(job.resume);
        },
        done);
}

}  // namespace millrace::sim

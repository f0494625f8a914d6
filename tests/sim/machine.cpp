#include "tests/sim/machine.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "backend/core/files.h"
#include "backend/engines/gang_files.h"
#include "backend/job/attempt_paths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/rank.h"

namespace millrace::sim {
namespace {

using engines::Cause;
using engines::Phase;

constexpr int kCores = 16;
constexpr std::uint64_t kMemory = std::uint64_t{64} << 30;

/// A feed or a relay: it is there. A feed says where its workers join.
class Sitter final : public Worker {
 public:
    using Worker::Worker;
    void begin() override {
        if (state.name == job::kFeed) {
            life.after(cluster.world.draw(50 * kMs, kSecond), [this] { saysWhereToJoin(); });
        }
        life.every(500 * kMs, [this] {
            if (cluster.areRanksDone(gang)) {
                end(0);
            }
        });
    }

 private:
    void saysWhereToJoin() {
        const std::size_t at = gang.rfind(".a");
        const job::AttemptPaths paths = job::RunPaths(machine.root + "/runs", gang.substr(0, at))
                                            .attempt(std::stoi(gang.substr(at + 2)));
        if (!writeFileAtomic(paths.joinFile(), "join " + gang, 0600).ok()) {
            life.after(kSecond, [this] { saysWhereToJoin(); });
        }
    }
};

}  // namespace

Worker::Worker(Cluster& cluster, Machine& machine, std::string gang, engines::WorkerState state)
    : cluster(cluster),
      machine(machine),
      life(cluster.world),
      gang(std::move(gang)),
      state(std::move(state)) {}

void Worker::terminate() {
    life.after(cluster.world.draw(50 * kMs), [this] { end(143); });
}

void Worker::end(int code) {
    if (state.exitCode.has_value()) {
        return;
    }
    life.end();
    state.exitCode = code;
    state.signal = code > 128 ? code - 128 : 0;
    state.endedMs = machine.clock.wallMs();
    cluster.world.tell(strCat(machine.name, ": ", gang, " ", state.name, " ends with ", code));
}

Machine::Machine(Cluster& cluster, std::string name, int number, bool isForgetful)
    : cluster(cluster),
      name(std::move(name)),
      root(cluster.root + "/" + this->name),
      number(number),
      clock(cluster.world, 1'700'000'000'000 + cluster.world.draw(-3'600'000, 3'600'000),
            cluster.world.draw(1, 1'000'000) * kMs),
      disk(cluster.world, root, isForgetful),
      cable(cluster.world),
      agent(cluster.world),
      pid(1'000 * (number + 1)) {
    std::filesystem::create_directories(root + "/runs");
}

bool Machine::isOff() const {
    return cluster.world.nowNs() < offUntilNs;
}

void Machine::losePower(std::int64_t ns) {
    offUntilNs = cluster.world.nowNs() + ns;
    tunnels.clear();
    for (auto& [key, gang] : gangs) {
        for (auto& worker : gang.workers) {
            if (!worker->state.exitCode.has_value()) {
                worker->state.isExitAssumed = true;
                worker->end(137);
            }
        }
    }
    disk.cutPower();
    // Of a gang whose record was not synced nobody knows any more.
    for (auto one = gangs.begin(); one != gangs.end();) {
        const std::string folder = *engines::gangDirectoryOf(root + "/runs", one->first);
        const auto record = engines::readGangRecord(folder, one->first);
        if (absl::IsNotFound(record.status()) && !one->second.isForgotten) {
            cluster.world.tell(strCat(name, ": nothing is known of ", one->first));
            lostGangs.push_back(std::move(one->second));
            one = gangs.erase(one);
        } else {
            ++one;
        }
    }
}

Worker* Machine::find(const std::string& worker) {
    for (auto& [key, gang] : gangs) {
        for (auto& one : gang.workers) {
            if (one->state.name == worker && !one->state.exitCode.has_value()) {
                return one.get();
            }
        }
    }
    return nullptr;
}

void Machine::cancel(SimGang& gang, Cause cause, std::int64_t graceNs, const std::string& why) {
    engines::State& state = gang.state;
    if (state.phase == Phase::kEnded || state.cause != Cause::kNone) {
        return;
    }
    state.phase = Phase::kStopping;
    state.cause = cause;
    state.reason = why;
    for (auto& worker : gang.workers) {
        if (!worker->state.exitCode.has_value()) {
            worker->terminate();
            // The guardian's, whatever the worker does.
            cluster.world.after(graceNs, [one = worker.get()] { one->end(137); });
        }
    }
}

void Machine::look(SimGang& gang) {
    engines::State& state = gang.state;
    if (state.phase == Phase::kEnded) {
        return;
    }
    state.workers.clear();
    bool areAllGone = true, isCriticalLeft = false;
    const Worker* failed = nullptr;
    for (const auto& worker : gang.workers) {
        const engines::WorkerState& one = worker->state;
        state.workers.push_back(one);
        areAllGone = areAllGone && one.exitCode.has_value();
        isCriticalLeft = isCriticalLeft || (one.isCritical && !one.exitCode.has_value());
        const bool isFailure = one.isCritical && one.exitCode.value_or(0) != 0;
        if (isFailure && (failed == nullptr || one.endedMs < failed->state.endedMs)) {
            failed = worker.get();
        }
    }
    constexpr std::int64_t kGraceNs = 15 * kSecond;
    if (state.cause == Cause::kNone && failed != nullptr) {
        state.worker = failed->state.name;
        state.exitCode = *failed->state.exitCode;
        cancel(gang, Cause::kWorkerFailed, kGraceNs,
               strCat(failed->state.name, " ended with exit code ", *failed->state.exitCode));
    } else if (state.cause == Cause::kNone && !isCriticalLeft) {
        cancel(gang, Cause::kOk, kGraceNs, "");
    }
    if (areAllGone) {
        state.cause = state.cause == Cause::kNone ? Cause::kOk : state.cause;
        state.phase = Phase::kEnded;
    }
    state.asOfMs = clock.wallMs();
}

// As the embedded engine: nothing begins before it is written down.
Status SimEngine::record(const engines::Gang& gang) const {
    const std::string root = machine_.root + "/runs";
    ASSIGN_OR_RETURN(const std::string folder, engines::gangDirectoryOf(root, gang.key));
    ASSIGN_OR_RETURN(const engines::GangRecord record, engines::recordOf(gang));
    RETURN_IF_ERROR(makeDirectories(folder, 0700));
    RETURN_IF_ERROR(engines::writeGangRecord(folder, record));
    return engines::addLivingMark(root, gang.key);
}

Status SimEngine::submit(const engines::Gang& gang) {
    if (const auto known = machine_.gangs.find(gang.key); known != machine_.gangs.end()) {
        if (engines::gangHash(known->second.gang) != engines::gangHash(gang)) {
            return alreadyExists("gang ", gang.key, ": exists with other contents");
        }
        return okStatus();
    }
    if (const Status written = record(gang); !written.ok()) {
        return absl::IsResourceExhausted(written) ? unavailable(messageOf(written)) : written;
    }
    SimGang& made = machine_.gangs[gang.key];
    made.gang = gang;
    made.state.phase = Phase::kRunning;
    made.state.masterPort = 29'500;
    made.askedNs = machine_.cluster.world.nowNs();
    for (const engines::Group& group : gang.groups) {
        int number = group.place.first;
        for (const std::string& name : engines::workerNames(group)) {
            engines::WorkerState state;
            state.name = name;
            state.rank = group.hasRanks ? number++ : -1;
            state.isCritical = group.isCritical;
            state.isStarted = true;
            state.pid = ++machine_.pid;
            if (group.hasRanks) {
                made.workers.push_back(
                    std::make_unique<Rank>(machine_.cluster, machine_, gang.key, state));
            } else {
                made.workers.push_back(
                    std::make_unique<Sitter>(machine_.cluster, machine_, gang.key, state));
            }
        }
    }
    machine_.cluster.world.tell(strCat(machine_.name, ": ", gang.key, " begins"));
    machine_.cluster.judge().placed(gang.key, machine_);
    for (auto& worker : made.workers) {
        worker->life.begin();
        worker->begin();
    }
    machine_.look(made);
    return okStatus();
}

Result<bool> SimEngine::has(const std::string& key) {
    if (machine_.cluster.world.nowNs() < machine_.unreadableUntilNs) {
        return dataLoss("gang.json: damaged");
    }
    const auto found = machine_.gangs.find(key);
    return found != machine_.gangs.end() && !found->second.isForgotten;
}

engines::State SimEngine::told(SimGang& gang) {
    gang.askedNs = machine_.cluster.world.nowNs();
    machine_.look(gang);
    return gang.state;
}

Result<engines::State> SimEngine::state(const std::string& key) {
    const auto found = machine_.gangs.find(key);
    if (found == machine_.gangs.end() || found->second.isForgotten) {
        return engines::State();
    }
    return told(found->second);
}

Result<std::vector<std::pair<std::string, engines::State>>> SimEngine::list() {
    std::vector<std::pair<std::string, engines::State>> all;
    for (auto& [key, gang] : machine_.gangs) {
        if (!gang.isForgotten && !gang.isToldOver) {
            all.emplace_back(key, told(gang));
            gang.isToldOver = gang.state.phase == Phase::kEnded;
        }
    }
    return all;
}

Status SimEngine::cancel(const std::string& key, std::chrono::milliseconds grace,
                         std::string_view why) {
    const auto found = machine_.gangs.find(key);
    if (found != machine_.gangs.end()) {
        machine_.look(found->second);
        if (found->second.state.cause == Cause::kNone) {
            machine_.cluster.judge().cancelled(key, std::string(why));
        }
        machine_.cancel(found->second, Cause::kCancelled, grace.count() * kMs, std::string(why));
    }
    return okStatus();
}

schedule::Resources SimEngine::total() const {
    return {kCores, 0, kMemory};
}

Result<std::string> SimEngine::gangDirectory(std::string_view key) const {
    return engines::gangDirectoryOf(machine_.root + "/runs", key);
}

std::vector<std::string> SimEngine::recordedKeys() const {
    std::vector<std::string> keys;
    for (const auto& [key, gang] : machine_.gangs) {
        if (!gang.isForgotten) {
            keys.push_back(key);
        }
    }
    return keys;
}

Status SimEngine::forget(const std::string& key) {
    const auto found = machine_.gangs.find(key);
    if (found != machine_.gangs.end()) {
        if (found->second.state.phase != Phase::kEnded) {
            return failedPrecondition("gang ", key, ": is followed");
        }
        found->second.isForgotten = true;
    }
    return okStatus();
}

}  // namespace millrace::sim

#include "tests/sim/sim_engine.h"

#include <memory>
#include <utility>

#include "backend/engines/gang_files.h"
#include "backend/filesystem/files.h"
#include "tests/sim/cluster.h"

namespace millrace::sim {
namespace {

using engines::Cause;
using engines::Phase;

constexpr std::uint64_t kMemory = std::uint64_t{64} << 30;

}  // namespace

// Like the embedded engine, it starts nothing before it has recorded it.
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
        if (known->second.isVacant()) {
            begin(known->second);
        }
        return okStatus();
    }
    if (const Status written = record(gang); !written.ok()) {
        return absl::IsResourceExhausted(written) ? unavailable(messageOf(written)) : written;
    }
    machine_.busyNs += machine_.startsNs;
    followed_.insert(gang.key);
    SimGang& made = machine_.gangs[gang.key];
    made.gang = gang;
    made.state.masterPort = 29'500;
    begin(made);
    return okStatus();
}

void SimEngine::begin(SimGang& made) {
    made.state.phase = Phase::kRunning;
    for (const engines::Group& group : made.gang.groups) {
        int number = group.place.first;
        for (const std::string& name : engines::workerNames(group)) {
            engines::WorkerState state;
            state.name = name;
            state.rank = group.hasRanks ? number++ : -1;
            state.isCritical = group.isCritical;
            state.isStarted = true;
            state.pid = ++machine_.pid;
            made.workers.push_back(Worker::make(machine_, made.gang.key, std::move(state)));
        }
    }
    machine_.cluster.world.tell(strCat(machine_.name, ": ", made.gang.key, " begins"));
    machine_.cluster.workersChanged();
    machine_.cluster.judge().placed(made.gang.key, machine_);
    for (auto& worker : made.workers) {
        worker->life.begin();
        worker->begin();
    }
    machine_.look(made);
}

// Like the embedded engine, it follows no gang whose record it cannot read: it neither asks for it
// nor ends it.
Status SimEngine::readable(const std::string& key) const {
    const bool isDamaged = machine_.cluster.world.nowNs() < machine_.unreadableUntilNs;
    return isDamaged && !followed_.contains(key) ? dataLoss("gang.json: damaged") : okStatus();
}

Result<bool> SimEngine::has(const std::string& key) {
    RETURN_IF_ERROR(readable(key));
    const auto found = machine_.gangs.find(key);
    return found != machine_.gangs.end() && !found->second.isForgotten;
}

engines::State SimEngine::told(SimGang& gang) {
    followed_.insert(gang.gang.key);
    machine_.look(gang);
    return gang.state;
}

Result<engines::State> SimEngine::state(const std::string& key) {
    RETURN_IF_ERROR(readable(key));
    const auto found = machine_.gangs.find(key);
    if (found == machine_.gangs.end() || found->second.isForgotten) {
        return engines::State();
    }
    return told(found->second);
}

Result<std::vector<std::pair<std::string, engines::State>>> SimEngine::list() {
    std::vector<std::pair<std::string, engines::State>> all;
    for (auto& [key, gang] : machine_.gangs) {
        if (!gang.isForgotten && !gang.isToldOver && readable(key).ok()) {
            all.emplace_back(key, told(gang));
            gang.isToldOver = gang.state.phase == Phase::kEnded;
        }
    }
    return all;
}

Status SimEngine::cancel(const std::string& key, std::chrono::milliseconds grace,
                         std::string_view why) {
    const auto found = machine_.gangs.find(key);
    if (found != machine_.gangs.end() && readable(key).ok()) {
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
        RETURN_IF_ERROR(
            engines::removeGang(*gangDirectory(key), *engines::recordOf(found->second.gang)));
        found->second.isForgotten = true;
    }
    return okStatus();
}

}  // namespace millrace::sim

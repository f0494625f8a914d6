#include "backend/engines/engine.h"

#include <algorithm>
#include <array>

#include "backend/core/hash.h"

namespace millrace::engines {
namespace {

constexpr std::array<std::string_view, 7> kPhases = {"submitting", "queued", "placing", "running",
                                                     "stopping",   "ended",  "missing"};
constexpr std::array<std::string_view, 13> kCauses = {"none",          "ok",
                                                      "worker_failed", "cancelled",
                                                      "preempted",     "node_lost",
                                                      "never_fits",    "place_timeout",
                                                      "time_limit",    "out_of_memory",
                                                      "refused",       "engine_failed",
                                                      "engine_forgot"};
constexpr std::array<std::string_view, 11> kEvents = {
    "placed",   "started", "worker_exit", "worker_vacant", "worker_silent", "worker_answers",
    "stopping", "missing", "unreachable", "reachable",     "ended"};

Json toJson(const Group& group) {
    return {{"name", group.name},
            {"slots", group.slots},
            {"procs", group.procs},
            {"cpus", group.resources.cpus},
            {"gpus", group.resources.gpus},
            {"memory", group.resources.memoryBytes},
            {"labels", group.labels},
            {"ranks", group.hasRanks},
            {"critical", group.isCritical},
            {"argv", group.argv},
            {"environment", group.environment},
            {"directory", group.workingDirectory},
            {"users", group.isUsers},
            {"replacements", group.replacements}};
}

}  // namespace

std::vector<std::string> workerNames(const Group& group) {
    const int count = group.slots * group.procs;
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
        names.push_back(group.hasRanks || count > 1 ? strCat(group.name, i) : group.name);
    }
    return names;
}

std::string gangHash(const Gang& gang) {
    Json json = {{"attempt", gang.attempt},
                 {"user", gang.user},
                 {"queue", gang.queue},
                 {"priority", gang.priority},
                 {"grace_ms", gang.grace.count()},
                 {"orphan_lease_s", gang.orphanLease.count()},
                 {"time_limit_s", gang.timeLimit.count()},
                 {"groups", Json::array()}};
    for (const Group& group : gang.groups) {
        json["groups"].push_back(toJson(group));
    }
    return hashHex(dumpJson(json));
}

bool isWhole(const State& state) {
    return std::all_of(state.workers.begin(), state.workers.end(),
                       [](const WorkerState& worker) { return worker.isStarted; });
}

bool hasLivingRank(const State& state) {
    return std::any_of(state.workers.begin(), state.workers.end(), [](const WorkerState& worker) {
        return worker.rank >= 0 && !worker.exitCode.has_value();
    });
}

std::string_view textOf(Phase phase) {
    return kPhases[static_cast<std::size_t>(phase)];
}

std::string_view textOf(Cause cause) {
    return kCauses[static_cast<std::size_t>(cause)];
}

std::string_view textOf(Event::Kind kind) {
    return kEvents[static_cast<std::size_t>(kind)];
}

Trouble troubleOf(const Status& status) {
    switch (status.code()) {
        case absl::StatusCode::kOk:
            return Trouble::kNone;
        case absl::StatusCode::kUnavailable:
        case absl::StatusCode::kDeadlineExceeded:
            return Trouble::kUnreachable;
        case absl::StatusCode::kPermissionDenied:
        case absl::StatusCode::kUnauthenticated:
            return Trouble::kAuth;
        case absl::StatusCode::kAlreadyExists:
            return Trouble::kConflict;
        case absl::StatusCode::kUnimplemented:
            return Trouble::kVersion;
        case absl::StatusCode::kDataLoss:
        case absl::StatusCode::kInternal:
            return Trouble::kBadReply;
        default:
            return Trouble::kRefused;
    }
}

bool isRetryable(const Status& status) {
    return troubleOf(status) == Trouble::kUnreachable;
}

}  // namespace millrace::engines

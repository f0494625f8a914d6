#include "backend/engines/engine.h"

#include <algorithm>
#include <array>

#include "backend/core/hash.h"

namespace millrace::engines {
namespace {

constexpr std::array<std::string_view, 6> kPhases = {"submitting", "placing", "running",
                                                     "stopping",   "ended",   "missing"};
constexpr std::array<std::string_view, 7> kCauses = {
    "none", "ok", "worker_failed", "cancelled", "node_lost", "refused", "engine_failed"};

Json toJson(const RankPlace& place) {
    return {{"first", place.first}, {"world", place.world},           {"node", place.node},
            {"nodes", place.nodes}, {"address", place.masterAddress}, {"port", place.masterPort}};
}

RankPlace placeFromJson(const Json& json) {
    RankPlace place;
    place.first = static_cast<int>(jsonInt(json, "first"));
    place.world = static_cast<int>(jsonInt(json, "world"));
    place.node = static_cast<int>(jsonInt(json, "node"));
    place.nodes = static_cast<int>(jsonInt(json, "nodes", 1));
    place.masterAddress = jsonString(json, "address");
    place.masterPort = static_cast<int>(jsonInt(json, "port"));
    return place;
}

std::map<std::string, std::string> textsOf(const Json& json) {
    std::map<std::string, std::string> texts;
    for (const auto& [name, value] : json.items()) {
        texts[name] = value.is_string() ? value.get<std::string>() : "";
    }
    return texts;
}

Json toJson(const Group& group) {
    Json json = {{"name", group.name},
                 {"slots", group.slots},
                 {"procs", group.procs},
                 {"cpus", group.resources.cpus},
                 {"gpus", group.resources.gpus},
                 {"memory", group.resources.memoryBytes},
                 {"ranks", group.hasRanks},
                 {"critical", group.isCritical},
                 {"argv", group.argv},
                 {"environment", group.environment},
                 {"directory", group.workingDirectory},
                 {"users", group.isUsers},
                 {"replacements", group.replacements}};
    if (group.place != RankPlace()) {  // keeps the hash of single-node gangs
        json["place"] = toJson(group.place);
    }
    return json;
}

Result<Group> groupFromJson(const Json& json) {
    Group group;
    group.name = jsonString(json, "name");
    group.slots = static_cast<int>(jsonInt(json, "slots", 1));
    group.procs = static_cast<int>(jsonInt(json, "procs", 1));
    group.resources = {jsonReal(json, "cpus"), static_cast<int>(jsonInt(json, "gpus")),
                       static_cast<std::uint64_t>(jsonInt(json, "memory"))};
    group.hasRanks = jsonBool(json, "ranks");
    group.isCritical = jsonBool(json, "critical", true);
    for (const Json& argument : jsonMember(json, "argv")) {
        group.argv.push_back(argument.is_string() ? argument.get<std::string>() : "");
    }
    group.environment = textsOf(jsonMember(json, "environment"));
    group.workingDirectory = jsonString(json, "directory");
    group.isUsers = jsonBool(json, "users");
    group.replacements = static_cast<int>(jsonInt(json, "replacements"));
    if (const Json& place = jsonMember(json, "place"); place.is_object()) {
        group.place = placeFromJson(place);
    }
    return group.name.empty() ? Result<Group>(invalidArgument("group: has no name")) : group;
}

}  // namespace

std::vector<std::string> workerNames(const Group& group) {
    const int count = group.slots * group.procs;
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
        const int number = group.place.first + i;
        names.push_back(group.hasRanks || count > 1 ? strCat(group.name, number) : group.name);
    }
    return names;
}

std::string gangText(const Gang& gang) {
    Json json = {{"key", gang.key}, {"attempt", gang.attempt}, {"groups", Json::array()}};
    for (const Group& group : gang.groups) {
        json["groups"].push_back(toJson(group));
    }
    return dumpJson(json);
}

Result<Gang> gangFromText(std::string_view text) {
    ASSIGN_OR_RETURN(const Json json, parseJson(text, "gang"));
    Gang gang;
    gang.key = jsonString(json, "key");
    gang.attempt = static_cast<int>(jsonInt(json, "attempt", 1));
    for (const Json& one : jsonMember(json, "groups")) {
        ASSIGN_OR_RETURN(Group group, groupFromJson(one));
        gang.groups.push_back(std::move(group));
    }
    return gang.key.empty() || gang.groups.empty()
               ? Result<Gang>(invalidArgument("gang: has no key or no groups"))
               : gang;
}

std::string gangHash(const Gang& gang) {
    Json json = {{"attempt", gang.attempt},
                 {"grace_ms", gang.grace.count()},
                 {"orphan_lease_s", gang.orphanLease.count()},
                 {"groups", Json::array()}};
    for (const Group& group : gang.groups) {
        json["groups"].push_back(toJson(group));
    }
    return hashHex(dumpJson(json));
}

bool isWhole(const State& state) {
    return std::ranges::all_of(state.workers,
                               [](const WorkerState& worker) { return worker.isStarted; });
}

bool isLiving(const State& state) {
    return state.phase != Phase::kEnded && state.phase != Phase::kMissing;
}

bool hasLivingRank(const State& state) {
    return std::ranges::any_of(state.workers, [](const WorkerState& worker) {
        return worker.rank >= 0 && !worker.exitCode.has_value();
    });
}

std::string_view textOf(Phase phase) {
    return kPhases[static_cast<std::size_t>(phase)];
}

std::string_view textOf(Cause cause) {
    return kCauses[static_cast<std::size_t>(cause)];
}

}  // namespace millrace::engines

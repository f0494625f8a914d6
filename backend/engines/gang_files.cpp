#include "backend/engines/gang_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/core/unique_fd.h"
#include "backend/filesystem/files.h"
#include "backend/job/attempt_paths.h"
#include "backend/text/json_bounds.h"
#include "backend/text/numbers.h"

namespace millrace::engines {
namespace {

constexpr std::size_t kKeyMax = 60;
constexpr int kWorkersMax = 4096;
constexpr std::size_t kRecordBytesMax = std::size_t{4} << 20;

// Names become folders, and keys become files and folders: neither may hold a slash, or begin with
// a dot.
bool isName(std::string_view text, std::string_view extra) {
    return !text.empty() && text.size() <= kKeyMax && std::ranges::all_of(text, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               extra.find(c) != std::string_view::npos;
    }) && extra.find(text.front()) == std::string_view::npos;
}

Status checkGroup(const Gang& gang, const Group& group) {
    const std::string place = strCat("gang ", gang.key, ", group '", group.name, "'");
    if (!isName(group.name, "-_")) {
        return invalidArgument(place, ": a name is made of a-z, 0-9, - and _");
    }
    // Divides, because slots * procs may overflow.
    if (group.slots < 1 || group.procs < 1 || group.slots > kWorkersMax / group.procs) {
        return invalidArgument(place, ": ", group.slots, " slots of ", group.procs,
                               " processes; must be 1 to ", kWorkersMax, " in all");
    }
    if (group.argv.empty() || group.argv[0].empty()) {
        return invalidArgument(place, ": has no command");
    }
    return okStatus();
}

/// The parts of a gang's key: <run>.a<attempt>, and the rest.
struct KeyParts {
    std::string_view run, part;
    int attempt = 0;
};

std::optional<int> numberOf(std::string_view digits) {
    const bool mayBe = digits.size() <= 9 && !digits.starts_with('-');
    return mayBe ? parseNumber<int>(digits) : std::nullopt;
}

// Reads from the right, because a run's id may hold dots: first the part, if the last word is not
// the attempt's, then the attempt.
std::optional<KeyParts> partsOf(std::string_view key) {
    KeyParts parts;
    const std::size_t last = key.rfind('.');
    const std::string_view tail = last == std::string_view::npos ? "" : key.substr(last + 1);
    if (!tail.empty() && tail[0] != 'a' && numberOf(tail.substr(1))) {
        parts.part = tail;
        key = key.substr(0, last);
    }
    const std::size_t dot = key.rfind(".a");
    const auto attempt =
        dot == std::string_view::npos || dot == 0 ? std::nullopt : numberOf(key.substr(dot + 2));
    if (!attempt.has_value()) {
        return std::nullopt;
    }
    parts.run = key.substr(0, dot);
    parts.attempt = *attempt;
    return parts;
}

std::string recordPath(const std::string& directory, std::string_view key) {
    const auto parts = partsOf(key);
    return parts.has_value() && !parts->part.empty()
               ? strCat(directory, "/gang.", parts->part, ".json")
               : directory + "/gang.json";
}

// A cause of a later version reads as kNone.
Cause causeOf(std::string_view text) {
    for (int i = 0; i <= static_cast<int>(Cause::kEngineFailed); ++i) {
        if (textOf(static_cast<Cause>(i)) == text) {
            return static_cast<Cause>(i);
        }
    }
    return Cause::kNone;
}

// Returns 0 if the file does not exist.
// The value is a multiple of 1000: parts of a second are dropped.
std::int64_t changedMs(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mtim.tv_sec * 1000 : 0;
}

}  // namespace

Result<GangRecord> recordOf(const Gang& gang) {
    GangRecord record;
    record.key = gang.key;
    record.hash = gangHash(gang);
    record.attempt = gang.attempt;
    record.grace = gang.grace;
    record.orphanLease = gang.orphanLease;
    std::set<std::string> names;
    for (const Group& group : gang.groups) {
        RETURN_IF_ERROR(checkGroup(gang, group));
        int rank = group.place.first;
        if (group.hasRanks && group.place.masterPort != 0) {
            record.masterPort = group.place.masterPort;
        }
        // Ranks are numbered over the job: this node's begin at place.first, in the order of the
        // names.
        for (const std::string& name : workerNames(group)) {
            if (!names.insert(name).second) {
                return invalidArgument("gang ", gang.key, ": two workers are called ", name);
            }
            record.workers.push_back(
                {name, group.hasRanks ? rank++ : -1, group.isCritical, group.replacements});
        }
        for (int slot = 0; slot < group.slots; ++slot) {
            record.resources += group.resources;
        }
    }
    if (record.workers.empty()) {
        return invalidArgument("gang ", gang.key, ": has no workers");
    }
    return record;
}

Status writeGangRecord(const std::string& directory, const GangRecord& r) {
    Json workers = Json::array();
    for (const WorkerRecord& worker : r.workers) {
        workers.push_back({{"name", worker.name},
                           {"rank", worker.rank},
                           {"critical", worker.isCritical},
                           {"replacements", worker.replacements},
                           {"replaced", worker.numReplaced},
                           {"cpu_seconds", worker.cpuSeconds},
                           {"peak_memory_bytes", worker.peakMemoryBytes}});
    }
    const Json json = {{"key", r.key},
                       {"hash", r.hash},
                       {"attempt", r.attempt},
                       {"grace_ms", r.grace.count()},
                       {"orphan_lease_s", r.orphanLease.count()},
                       {"cpus", r.resources.cpus},
                       {"gpus", r.resources.gpus},
                       {"memory", r.resources.memoryBytes},
                       {"gpu_names", r.gpus},
                       {"master_port", r.masterPort},
                       {"workers", workers},
                       {"ended", r.isEnded},
                       {"cause", std::string(textOf(r.cause))},
                       {"exit_code", r.exitCode},
                       {"worker", r.worker},
                       {"reason", r.reason}};
    // Written again with each change, and read by the next daemon after a crash: a reader sees the
    // old or the new record, never a part of one.
    return writeFileAtomic(recordPath(directory, r.key), dumpJson(json) + "\n", 0600);
}

Result<GangRecord> readGangRecord(const std::string& directory, std::string_view key) {
    const std::string path = recordPath(directory, key);
    ASSIGN_OR_RETURN(const std::string text, readFile(path, kRecordBytesMax));
    const Result<Json> json = parseBounded(text, path, {kRecordBytesMax});
    if (!json.ok() || !json->is_object()) {
        return dataLoss(path, ": is not what the engine wrote");
    }
    GangRecord r;
    r.key = jsonString(*json, "key");
    r.hash = jsonString(*json, "hash");
    r.attempt = static_cast<int>(jsonInt(*json, "attempt", 1));
    r.grace = std::chrono::milliseconds(jsonInt(*json, "grace_ms"));
    r.orphanLease = std::chrono::seconds(jsonInt(*json, "orphan_lease_s"));
    r.resources = {jsonReal(*json, "cpus"), static_cast<int>(jsonInt(*json, "gpus")),
                   static_cast<std::uint64_t>(jsonInt(*json, "memory"))};
    for (const Json& gpu : jsonMember(*json, "gpu_names")) {
        r.gpus.push_back(gpu.is_string() ? gpu.get<std::string>() : "");
    }
    r.masterPort = static_cast<int>(jsonInt(*json, "master_port"));
    for (const Json& worker : jsonMember(*json, "workers")) {
        r.workers.push_back(
            {jsonString(worker, "name"), static_cast<int>(jsonInt(worker, "rank", -1)),
             jsonBool(worker, "critical", true), static_cast<int>(jsonInt(worker, "replacements")),
             static_cast<int>(jsonInt(worker, "replaced")), jsonReal(worker, "cpu_seconds"),
             jsonInt(worker, "peak_memory_bytes")});
    }
    r.isEnded = jsonBool(*json, "ended");
    r.cause = causeOf(jsonString(*json, "cause"));
    r.exitCode = static_cast<int>(jsonInt(*json, "exit_code"));
    r.worker = jsonString(*json, "worker");
    r.reason = jsonString(*json, "reason");
    return r;
}

std::vector<std::string> recordedKeys(const std::string& root) {
    std::vector<std::string> keys;
    std::error_code error;
    for (const auto& run : std::filesystem::directory_iterator(root, error)) {
        const job::RunPaths paths(root, run.path().filename().string());
        for (const int attempt : paths.attempts()) {
            const std::string directory = paths.attempt(attempt).directory();
            for (const auto& file : std::filesystem::directory_iterator(directory, error)) {
                std::string name = file.path().filename().string();
                if (name.starts_with("gang.") && name.ends_with(".json")) {
                    const std::string part = name.substr(4, name.size() - 9);  // ".d0" or ""
                    keys.push_back(strCat(run.path().filename().string(), ".a", attempt, part));
                }
            }
        }
    }
    return keys;
}

// Removes the record last: after a failure, the rest can be found again.
Status removeGang(const std::string& directory, const GangRecord& record) {
    for (const WorkerRecord& worker : record.workers) {
        const std::string folder = strCat(directory, "/", worker.name);
        std::error_code error;
        std::filesystem::remove_all(folder, error);
        if (error) {
            return errnoStatus(error.value(), folder);
        }
    }
    const std::string path = recordPath(directory, record.key);
    return ::unlink(path.c_str()) == 0 || errno == ENOENT ? okStatus() : errnoStatus(errno, path);
}

Status setGuardianAside(const std::string& workerDirectory, int number) {
    for (const char* name : {"guardian", "exit"}) {
        const std::string from = strCat(workerDirectory, "/", name, ".json");
        const std::string to = strCat(workerDirectory, "/", name, ".", number, ".json");
        if (::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) {
            return errnoStatus(errno, from);
        }
    }
    return okStatus();
}

Result<std::string> gangDirectoryOf(const std::string& root, std::string_view key) {
    const auto parts = partsOf(key);
    if (!isName(key, ".-") || !parts.has_value()) {
        return invalidArgument("gang key '", key, "': must look like r-abcde.a1 or r-abcde.a1.d0");
    }
    return job::RunPaths(root, parts->run).attempt(parts->attempt).directory();
}

Status addLivingMark(const std::string& root, const std::string& key) {
    RETURN_IF_ERROR(makeDirectories(root + "/.gangs", 0700));
    const std::string path = strCat(root, "/.gangs/", key);
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    return fd.isOpen() ? okStatus() : errnoStatus(errno, path);
}

void removeLivingMark(const std::string& root, const std::string& key) {
    ::unlink(strCat(root, "/.gangs/", key).c_str());
}

Result<std::vector<std::string>> livingMarks(const std::string& root) {
    RETURN_IF_ERROR(makeDirectories(root + "/.gangs", 0700));
    std::vector<std::string> keys;
    std::error_code error;
    std::filesystem::directory_iterator it(root + "/.gangs", error), end;
    for (; !error && it != end; it.increment(error)) {
        keys.push_back(it->path().filename().string());
    }
    if (error) {
        return errnoStatus(error.value(), root + "/.gangs");
    }
    std::ranges::sort(keys);
    return keys;
}

std::optional<GuardianRecord> readGuardianRecord(const std::string& workerDirectory) {
    const std::string path = workerDirectory + "/guardian.json";
    const Result<std::string> text = readFile(path, kRecordBytesMax);
    const Result<Json> json =
        text.ok() ? parseBounded(*text, path, {kRecordBytesMax}) : Result<Json>(text.status());
    if (!json.ok() || jsonInt(*json, "pid") <= 0) {
        return std::nullopt;
    }
    return GuardianRecord{jsonInt(*json, "pid"),
                          jsonInt(*json, "start_time"),
                          jsonInt(*json, "command_pid"),
                          jsonString(*json, "control_socket"),
                          jsonString(*json, "control_group"),
                          PidScope::fromJson(*json),
                          changedMs(path)};
}

Result<std::optional<ExitRecord>> readExitRecord(const std::string& workerDirectory) {
    const std::string path = workerDirectory + "/exit.json";
    const Result<std::string> text = readFile(path, kRecordBytesMax);
    // A daemon that lacks descriptors must not conclude that the worker left no record: it would
    // count the worker as killed.
    if (absl::IsResourceExhausted(text.status())) {
        return text.status();
    }
    const Result<Json> json =
        text.ok() ? parseBounded(*text, path, {kRecordBytesMax}) : Result<Json>(text.status());
    if (!json.ok() || !json->is_object()) {
        return std::optional<ExitRecord>();
    }
    const Result<std::int64_t> time = parseTime(jsonString(*json, "time"));
    return std::optional(ExitRecord{
        // 137 is 128 + SIGKILL, a shell's code for a killed process: assumed if the record has no
        // code.
        static_cast<int>(jsonInt(*json, "code", 137)), static_cast<int>(jsonInt(*json, "signal")),
        time.ok() ? *time : 0, jsonString(*json, "reason"), jsonString(*json, "boot_id"),
        jsonInt(*json, "boot_ms"), jsonReal(*json, "cpu_seconds"),
        jsonInt(*json, "peak_memory_bytes")});
}

bool isEarlier(const ExitRecord& a, const ExitRecord& b) {
    const bool isOneBoot = !a.bootId.empty() && a.bootId == b.bootId;
    return isOneBoot ? a.bootMs < b.bootMs : a.timeMs < b.timeMs;
}

}  // namespace millrace::engines

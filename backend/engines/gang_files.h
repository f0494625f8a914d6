#pragma once
// The embedded engine's files of a gang, and the files that guardians write there.
//
//   ROOT/.gangs/<key>                  an empty file for every gang that has not ended
//   ROOT/<run>/a<attempt>/gang.json    GangRecord, written before anything is started
//   ROOT/<run>/a<attempt>/gang.<part>.json     the same of the gang <run>.a<attempt>.<part>
//   ROOT/<run>/a<attempt>/<worker>/    guardian.json, out.log, exit.json (millrace-exec)
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/engines/engine.h"
#include "backend/system/pid_scope.h"

namespace millrace::engines {

struct WorkerRecord {
    std::string name;
    int rank = -1;
    bool isCritical = true;
    int replacements = 0;  ///< remaining ones of Group::replacements
    int numReplaced = 0;
    double cpuSeconds = 0;  ///< of replaced workers, like the next member
    std::int64_t peakMemoryBytes = 0;
};

/// gang.json.
struct GangRecord {
    std::string key, hash;
    int attempt = 1;
    std::chrono::milliseconds grace{0};
    std::chrono::seconds orphanLease{0};
    schedule::Resources resources;  ///< of all slots
    std::vector<std::string> gpus;  ///< granted, by their names for CUDA_VISIBLE_DEVICES
    int masterPort = 0;             ///< 0: no ranks, or none found yet
    std::vector<WorkerRecord> workers;
    bool isEnded = false;
    Cause cause = Cause::kNone;  ///< set once the gang was told to end
    int exitCode = 0;
    std::string worker, reason;
};

/// kInvalidArgument with the position of the invalid part.
Result<GangRecord> recordOf(const Gang& gang);
Status writeGangRecord(const std::string& directory, const GangRecord& record);
/// kNotFound if it does not exist, kDataLoss if it is unreadable.
Result<GangRecord> readGangRecord(const std::string& directory, std::string_view key);

/// Keys of all gangs with a record, including ended ones.
std::vector<std::string> recordedKeys(const std::string& root);

/// Removes the record and the workers' folders.
Status removeGang(const std::string& directory, const GangRecord& record);

/// "<run>.a<attempt>" -> ROOT/<run>/a<attempt>; the same for "<run>.a<attempt>.<part>", a separate
/// gang of that attempt whose part is a letter and a number: "d3".
Result<std::string> gangDirectoryOf(const std::string& root, std::string_view key);

Status addLivingMark(const std::string& root, const std::string& key);
void removeLivingMark(const std::string& root, const std::string& key);
Result<std::vector<std::string>> livingMarks(const std::string& root);

/// guardian.json.
struct GuardianRecord {
    std::int64_t pid = 0, startTime = 0, commandPid = 0;
    std::string controlSocket;
    std::string controlGroup;    ///< directory of the worker's group; "": it has none
    PidScope scope;              ///< of the pids
    std::int64_t writtenMs = 0;  ///< the file's modification time, wall time
};
std::optional<GuardianRecord> readGuardianRecord(const std::string& workerDirectory);
/// Renames the previous guardian's files, to make room for another guardian.
Status setGuardianAside(const std::string& workerDirectory, int number);

/// exit.json: nothing of the worker is left once it exists.
struct ExitRecord {
    int code = 0, signal = 0;
    std::int64_t timeMs = 0;
    std::string reason;
    std::string bootId;  ///< "": unknown
    std::int64_t bootMs = 0;
    double cpuSeconds = 0;
    std::int64_t peakMemoryBytes = 0;
    bool isAssumed = false;  ///< not read: nothing is left of the worker, not even a record
};
/// Whether `a` was written before `b`. Compares the time since boot if both are from one boot, as
/// the wall clock may have been set in between.
bool isEarlier(const ExitRecord& a, const ExitRecord& b);
/// Nothing if there is none; an error if it is unreadable for lack of descriptors or memory.
Result<std::optional<ExitRecord>> readExitRecord(const std::string& workerDirectory);

}  // namespace millrace::engines

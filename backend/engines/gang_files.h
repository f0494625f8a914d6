#pragma once
// What the embedded engine keeps of a gang on disk, and what guardians tell there.
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
    int replacements = 0;  ///< that are left of Group::replacements
    int numReplaced = 0;
    double cpuSeconds = 0;  ///< of those that were replaced, as the next one
    std::int64_t peakMemoryBytes = 0;
};

/// gang.json.
struct GangRecord {
    std::string key, hash;
    int attempt = 1;
    std::int64_t submittedMs = 0;
    std::chrono::milliseconds grace{0};
    std::chrono::seconds orphanLease{0}, timeLimit{0};
    schedule::Resources resources;  ///< of all slots
    std::vector<std::string> gpus;  ///< granted, by their names for CUDA_VISIBLE_DEVICES
    int masterPort = 0;             ///< 0: no ranks, or none found yet
    std::vector<WorkerRecord> workers;
    bool isEnded = false;
    Cause cause = Cause::kNone;  ///< set when the gang was told to end
    int exitCode = 0;
    std::string worker, reason;
};

/// kInvalidArgument with the place of what makes no sense.
Result<GangRecord> recordOf(const Gang& gang);
Status writeGangRecord(const std::string& directory, const GangRecord& record);
/// kNotFound when there is none, kDataLoss when it cannot be read.
Result<GangRecord> readGangRecord(const std::string& directory, std::string_view key);

/// Keys of all gangs that have a record, ended ones too.
std::vector<std::string> recordedKeys(const std::string& root);

/// Record and workers' folders.
Status removeGang(const std::string& directory, const GangRecord& record);

/// "<run>.a<attempt>" -> ROOT/<run>/a<attempt>; the same of "<run>.a<attempt>.<part>", a gang
/// beside that one whose part is a letter and a number: "d3".
Result<std::string> gangDirectoryOf(const std::string& root, std::string_view key);

Status addLivingMark(const std::string& root, const std::string& key);
void removeLivingMark(const std::string& root, const std::string& key);
Result<std::vector<std::string>> livingMarks(const std::string& root);

/// guardian.json.
struct GuardianRecord {
    std::int64_t pid = 0, startTime = 0, commandPid = 0;
    std::string controlSocket;
    std::string controlGroup;    ///< directory of the worker's; "": it has none
    PidScope scope;              ///< of the pids
    std::int64_t writtenMs = 0;  ///< the file's time of change, wall time
};
std::optional<GuardianRecord> readGuardianRecord(const std::string& workerDirectory);
/// Makes room for another guardian: what the one before wrote stays under other names.
Status setGuardianAside(const std::string& workerDirectory, int number);

/// exit.json: from here on nothing of the worker is left.
struct ExitRecord {
    int code = 0, signal = 0;
    std::int64_t timeMs = 0;
    std::string reason;
    std::string bootId;  ///< "": unknown
    std::int64_t bootMs = 0;
    double cpuSeconds = 0;
    std::int64_t peakMemoryBytes = 0;
    bool isAssumed = false;  ///< not read: nothing is left of the worker, and no record either
};
/// Whether `a` was written before `b`: by the time since the boot where both tell one boot, as the
/// wall clock may have been set in between.
bool isEarlier(const ExitRecord& a, const ExitRecord& b);
/// Nothing when there is none; an error when it cannot be read for want of descriptors or memory.
Result<std::optional<ExitRecord>> readExitRecord(const std::string& workerDirectory);

}  // namespace millrace::engines

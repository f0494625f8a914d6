#pragma once
// Details of one run beyond its summary: its documents, and the reply to `Get`.
//
// Lists contain none of this. Documents are canonical JSON text unless noted otherwise.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/values/receipt.h"
#include "backend/values/run_live.h"
#include "backend/values/run_summary.h"

namespace millrace::values {

/// The starts of a resume besides the step of a checkpoint.
inline constexpr std::int64_t kFromLast = 0;    ///< the last checkpoint
inline constexpr std::int64_t kFromStart = -1;  ///< step 0, whatever checkpoints exist

/// A document that may have many megabytes: it is requested separately, as a whole or by pages.
enum class LargeDocument { kPlan, kReceipt };

/// The documents of a run in the store.
struct RunDocuments {
    std::string specText;  ///< as written by the user
    std::string resolvedSpec;
    std::string planFacts;                        ///< files, splits, rows, bytes of the plan
    std::string hardware;                         ///< of the node where the run was submitted
    std::map<std::string, std::string> packages;  ///< name -> version
    std::string launch;     ///< LaunchPlace of a run with a command; otherwise ""
    std::string submitted;  ///< the rest of the submit, to repeat it: file name, sets, git
    /// The pinned plan, shared by the runs of a submit. Set only to create a run; read it as
    /// LargeDocument::kPlan.
    std::shared_ptr<const std::string> plan;
};

struct GitInfo {
    std::string commit, branch, remote;  ///< commit "" outside a repository
    bool isDirty = false;
    std::string diff;  ///< uncommitted changes, for a submit; truncated if long
    bool operator==(const GitInfo&) const = default;
};

struct Checkpoint {
    std::int64_t step = 0, timeMs = 0;
    std::string path, hash;
    std::uint64_t bytes = 0;
    int attempt = 0;
    std::int64_t epoch = 0;
    bool operator==(const Checkpoint&) const = default;
};

/// The place where a script was submitted, which decides how it is started.
struct LaunchPlace {
    std::string workingDirectory;                    ///< absolute; "": the spec's
    std::map<std::string, std::string> environment;  ///< without secrets: it is stored and shown
    std::string specPath;                            ///< path of the spec file; set by the daemon
    bool operator==(const LaunchPlace&) const = default;
};

/// Facts about a run's own script. From `path` on, rank 0 of the newest attempt reports them.
struct ScriptInfo {
    LaunchPlace place;
    std::string path, sha256;         ///< of the file given to the interpreter; "": none
    std::string interpreter, python;  ///< path; version, "3.11.2"
    std::string diffPath;             ///< path of the file with the git tree's changes; "": none
    bool operator==(const ScriptInfo&) const = default;
};

/// A line of a run's history.
struct RunEvent {
    std::int64_t timeMs = 0;
    std::string text;
    bool operator==(const RunEvent&) const = default;
};

struct RunDetail {
    RunSummary summary;                                ///< without params, which are below
    std::string specText, specFileName, resolvedSpec;  ///< resolvedSpec: canonical JSON
    std::int64_t planFiles = 0, planSplits = 0, planRows = 0, planBytes = 0;
    std::optional<Receipt> receipt;  ///< absent before the first checkpoint
    std::map<std::string, std::string> params, packages;
    std::vector<Checkpoint> checkpoints;  ///< by step
    GitInfo git;
    std::vector<WorkerInfo> workers;
    std::vector<RunEvent> events;
    std::string directory, hardware;
    std::string weightsHash;  ///< of the final weights, "" if the trainer reported none
    std::vector<std::string> metricNames, sets;
    ScriptInfo script;     ///< for a run with a command
    FrameTraffic traffic;  ///< of an active run's newest attempt
    /// That of the active attempt, else the receipt's.
    const FrameTraffic& shownTraffic() const {
        return traffic.isEmpty() && receipt ? receipt->dataWorkers.traffic : traffic;
    }
    bool operator==(const RunDetail&) const = default;
};

}  // namespace millrace::values

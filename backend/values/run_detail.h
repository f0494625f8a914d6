#pragma once
// What is known of one run beyond its summary: its documents, and all that `Get` tells.
//
// Lists carry none of it. Documents are canonical JSON text where nothing else is said.
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

/// Where a resume goes on, beside the step of a checkpoint.
inline constexpr std::int64_t kFromLast = 0;    ///< the last checkpoint
inline constexpr std::int64_t kFromStart = -1;  ///< step 0, whatever checkpoints there are

/// A document that may be many megabytes: it is asked for by itself, whole or by pages.
enum class LargeDocument { kPlan, kReceipt };

/// What a run was made from, as the store keeps it.
struct RunDocuments {
    std::string specText;  ///< as the user wrote it
    std::string resolvedSpec;
    std::string planFacts;  ///< files, splits, rows, bytes of the plan; "" of older versions
    std::string hardware;   ///< of the node that the run was submitted to
    std::map<std::string, std::string> packages;  ///< name -> version
    std::string launch;     ///< LaunchPlace of a run with a command; "" of others
    std::string submitted;  ///< what else a submit said, to repeat it: file name, sets, git
    /// The pinned plan, shared by the runs of a submit. Only to create a run with; read as
    /// LargeDocument::kPlan.
    std::shared_ptr<const std::string> plan;
};

struct GitFacts {
    std::string commit, branch, remote;  ///< commit "" outside of a repository
    bool isDirty = false;
    std::string diff;  ///< what is changed, for a submit; its end is cut off where it is long
    bool operator==(const GitFacts&) const = default;
};

struct Checkpoint {
    std::int64_t step = 0, timeMs = 0;
    std::string path, hash;
    std::uint64_t bytes = 0;
    int attempt = 0;
    std::int64_t epoch = 0;
    bool operator==(const Checkpoint&) const = default;
};

/// Where a script was submitted from, which is how it is started.
struct LaunchPlace {
    std::string workingDirectory;                    ///< absolute; "": the spec's
    std::map<std::string, std::string> environment;  ///< no secrets: it is stored and shown
    std::string specPath;  ///< of the spec's file; filled in by the daemon
    bool operator==(const LaunchPlace&) const = default;
};

/// What is known of a run's own script. `path` and below: told by rank 0 of the newest attempt.
struct ScriptFacts {
    LaunchPlace place;
    std::string path, sha256;         ///< of the file that the interpreter was given; "": none
    std::string interpreter, python;  ///< its path; "3.11.2"
    std::string diffPath;             ///< of the file with the changes of the git tree; "": none
    bool operator==(const ScriptFacts&) const = default;
};

/// A line of a run's history.
struct RunEvent {
    std::int64_t timeMs = 0;
    std::string text;
    bool operator==(const RunEvent&) const = default;
};

struct RunDetail {
    RunSummary summary;                                ///< without params, which stand here
    std::string specText, specFileName, resolvedSpec;  ///< resolvedSpec: canonical JSON
    std::int64_t planFiles = 0, planSplits = 0, planRows = 0, planBytes = 0;
    std::optional<Receipt> receipt;  ///< absent before the first checkpoint
    std::map<std::string, std::string> params, packages;
    std::vector<Checkpoint> checkpoints;  ///< by step
    GitFacts git;
    std::vector<WorkerInfo> workers;
    std::vector<RunEvent> events;
    std::string directory, hardware;
    std::string weightsHash;  ///< of the final weights, "" where the trainer told none
    std::vector<std::string> metricNames, sets;
    ScriptFacts script;  ///< of a run with a command
    bool operator==(const RunDetail&) const = default;
};

}  // namespace millrace::values

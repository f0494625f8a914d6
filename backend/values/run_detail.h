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
    /// The pinned plan, shared by the runs of a submit. Only to create a run with; read as
    /// LargeDocument::kPlan.
    std::shared_ptr<const std::string> plan;
};

struct GitFacts {
    std::string commit, branch, remote;  ///< commit "" outside of a repository
    bool isDirty = false;
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
    bool operator==(const RunDetail&) const = default;
};

}  // namespace millrace::values

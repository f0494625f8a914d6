#include "daemon/agent/crew/data_nodes.h"

#include "backend/job/attempt_paths.h"

namespace millrace::agent {
namespace {

// Of each data worker: a budget of its own, as losing one costs the run nothing but its cores.
constexpr int kReplacements = 16;
// How long a data worker waits for the feed to say where to come.
constexpr int kJoinWaitSeconds = 120;

}  // namespace

std::string DataWorkerName::key() const {
    return strCat(run, ".a", attempt, ".d", number);
}

std::string DataWorkerName::worker() const {
    return strCat(job::kData, number);
}

std::optional<DataWorkerName> DataWorkerName::parse(std::string_view key) {
    const auto parts = job::partOf(key, 'd');
    return parts.has_value()
               ? std::optional(DataWorkerName{parts->run, parts->attempt, parts->number})
               : std::nullopt;
}

engines::Gang dataGang(const DataWorkerName& name, const std::string& joinPath,
                       const std::string& binDir) {
    engines::Group worker;
    worker.name = name.worker();
    worker.argv = {binDir + "/millrace-loader",     "data", "--join", joinPath, "--wait",
                   std::to_string(kJoinWaitSeconds)};
    worker.isCritical = false;
    worker.replacements = kReplacements;
    engines::Gang gang;
    gang.key = name.key();
    gang.attempt = name.attempt;
    gang.groups = {std::move(worker)};
    return gang;
}

}  // namespace millrace::agent

#include "daemon/agent/crew/data_nodes.h"

#include <charconv>

#include "backend/job/attempt_paths.h"

namespace millrace::agent {
namespace {

// Of each data worker: a budget of its own, as losing one costs the run nothing but its cores.
constexpr int kReplacements = 16;
// How long a data worker waits for the feed to say where to come.
constexpr int kJoinWaitSeconds = 120;

std::optional<int> numberOf(std::string_view text) {
    int number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    const bool isNumber = read.ec == std::errc() && read.ptr == end && number >= 0;
    return isNumber ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string DataWorkerName::key() const {
    return strCat(run, ".a", attempt, ".d", number);
}

std::string DataWorkerName::worker() const {
    return strCat(job::kData, number);
}

std::optional<DataWorkerName> DataWorkerName::parse(std::string_view key) {
    const std::size_t dot = key.rfind(".d");
    const std::size_t attemptDot = key.substr(0, dot).rfind(".a");
    if (dot == std::string_view::npos || attemptDot == std::string_view::npos || attemptDot == 0) {
        return std::nullopt;
    }
    const auto attempt = numberOf(key.substr(attemptDot + 2, dot - attemptDot - 2));
    const auto number = numberOf(key.substr(dot + 2));
    if (!attempt.has_value() || !number.has_value()) {
        return std::nullopt;
    }
    return DataWorkerName{std::string(key.substr(0, attemptDot)), *attempt, *number};
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

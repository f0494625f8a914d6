#include "daemon/agent/crew/nodes.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "backend/job/attempt_paths.h"
#include "backend/text/text.h"

namespace millrace::agent {
namespace {

// Each data worker and each relay has a budget of its own, because losing one costs the run little.
constexpr int kReplacements = 16;
// Seconds that a data worker waits until the feed tells it where to connect.
constexpr int kJoinWaitSeconds = 120;

constexpr std::string_view kBin = "{bin}", kAttempt = "{attempt}";

void replace(std::string& text, std::string_view what, const std::string& by) {
    if (const std::size_t at = text.find(what); at != std::string::npos) {
        text.replace(at, what.size(), by);
    }
}

}  // namespace

std::string PartName::key() const {
    return part == 0 ? strCat(run, ".a", attempt) : strCat(run, ".a", attempt, ".p", part);
}

std::string PartName::feed() const {
    return job::feedName(part);
}

std::optional<PartName> PartName::parse(std::string_view key) {
    if (const auto lead = job::attemptOf(key)) {
        return PartName{lead->run, lead->attempt, 0};
    }
    const auto parts = job::partOf(key, 'p');
    return parts.has_value() ? std::optional(PartName{parts->run, parts->attempt, parts->number})
                             : std::nullopt;
}

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

void settle(engines::Gang& gang, const std::string& binDir, const std::string& attemptDirectory,
            const std::string& node) {
    for (engines::Group& group : gang.groups) {
        if (group.isUsers) {
            // The module finds the library and the programs of this daemon's version here.
            group.environment.try_emplace("MILLRACE_BIN_DIR", binDir);
            group.environment["MILLRACE_JOB"] = job::AttemptPaths(attemptDirectory).jobFile();
            continue;
        }
        if (std::getenv("MILLRACE_LOG") == nullptr) {
            group.environment.try_emplace("MILLRACE_LOG", "debug");  // readers leave it out
        }
        group.environment["MR_NODE"] = node;
        for (std::string& argument : group.argv) {
            replace(argument, kBin, binDir);
            replace(argument, kAttempt, attemptDirectory);
        }
    }
}

engines::Gang dataGang(const DataWorkerName& name, int threads) {
    engines::Group worker;
    worker.name = name.worker();
    worker.argv = {"{bin}/millrace-loader", "data",   "--join",
                   "{attempt}/data.join",   "--wait", std::to_string(kJoinWaitSeconds)};
    if (threads > 0) {
        worker.argv.insert(worker.argv.end(), {"--threads", std::to_string(threads)});
    }
    worker.isCritical = false;
    worker.replacements = kReplacements;
    engines::Gang gang;
    gang.key = name.key();
    gang.attempt = name.attempt;
    gang.groups = {std::move(worker)};
    return gang;
}

void giveCommand(engines::Group& ranks) {
    ranks.argv = {"{bin}/millrace-trainer", "--job", "{attempt}/job.json", "--rank", "{rank}"};
}

engines::Gang relayGang(const PartName& name, engines::Group ranks) {
    engines::Group relay;
    relay.name = name.feed();
    relay.argv = {"{bin}/millrace-loader", "feed", "--job", "{attempt}/job.json"};
    // A script's ranks wait for its replacement, as they do for a feed's; those of the built-in
    // trainer restart.
    relay.replacements = ranks.isUsers ? kReplacements : 0;
    engines::Gang gang;
    gang.key = name.key();
    gang.attempt = name.attempt;
    gang.groups = {std::move(relay), std::move(ranks)};
    return gang;
}

std::vector<std::string> workersOf(const Placement& placement) {
    std::vector<std::string> names;
    if (const auto gang = engines::gangFromText(placement.gang); gang.ok()) {
        for (const engines::Group& group : gang->groups) {
            const auto all = engines::workerNames(group);
            names.insert(names.end(), all.begin(), all.end());
        }
    }
    return names;
}

std::vector<schedule::Node> allOf(const Nodes& nodes) {
    std::vector<NodeStatus> standings = nodes.standings();
    standings.insert(standings.begin(), nodes.standing(""));
    std::vector<schedule::Node> all;
    for (const NodeStatus& one : standings) {
        all.push_back({one.name, one.total, one.free, one.mayTake()});
    }
    return all;
}

}  // namespace millrace::agent

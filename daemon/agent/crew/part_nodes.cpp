#include "daemon/agent/crew/part_nodes.h"

#include <algorithm>

#include "backend/core/text.h"
#include "backend/job/attempt_paths.h"

namespace millrace::agent {
namespace {

constexpr int kRelayReplacements = 16;

std::string amounts(const schedule::Resources& needs) {
    std::string text = strCat(needs.cpus, needs.cpus == 1 ? " core" : " cores");
    if (needs.gpus > 0) {
        strAppend(&text, ", ", needs.gpus, needs.gpus == 1 ? " GPU" : " GPUs");
    }
    if (needs.memoryBytes > 0) {
        strAppend(&text, " and ", formatBytes(static_cast<double>(needs.memoryBytes)));
    }
    return text;
}

}  // namespace

std::string PartName::key() const {
    return strCat(run, ".a", attempt, ".p", part);
}

std::string PartName::relay() const {
    return job::feedName(part);
}

std::optional<PartName> PartName::parse(std::string_view key) {
    const auto parts = job::partOf(key, 'p');
    return parts.has_value() ? std::optional(PartName{parts->run, parts->attempt, parts->number})
                             : std::nullopt;
}

void giveCommand(engines::Group& ranks, const std::string& jobPath, const std::string& binDir) {
    if (ranks.isUsers) {
        // Where its module finds the library and the programs of this daemon's version.
        ranks.environment.try_emplace("MILLRACE_BIN_DIR", binDir);
        ranks.environment["MILLRACE_JOB"] = jobPath;
    } else {
        ranks.argv = {binDir + "/millrace-trainer", "--job", jobPath, "--rank", "{rank}"};
    }
}

engines::Gang partGang(const PartName& name, engines::Group ranks, const std::string& jobPath,
                       const std::string& binDir) {
    giveCommand(ranks, jobPath, binDir);
    engines::Group relay;
    relay.name = name.relay();
    relay.argv = {binDir + "/millrace-loader", "feed", "--job", jobPath};
    // As the feed's: a script's ranks wait for another one, the built-in trainer's begin again.
    relay.replacements = ranks.isUsers ? kRelayReplacements : 0;
    engines::Gang gang;
    gang.key = name.key();
    gang.attempt = name.attempt;
    gang.groups = {std::move(relay), std::move(ranks)};
    return gang;
}

std::vector<std::string> workersOf(const PartPlacement& placement) {
    std::vector<std::string> names;
    if (const auto ranks = engines::groupFromText(placement.ranks); ranks.ok()) {
        names = engines::workerNames(*ranks);
    }
    names.insert(names.begin(), placement.name.relay());
    return names;
}

schedule::Resources withinNode(const schedule::Resources& needs, const schedule::Resources& total) {
    return {std::min(needs.cpus, total.cpus), needs.gpus,
            std::min(needs.memoryBytes, total.memoryBytes)};
}

Result<std::vector<std::string>> chooseNodes(const std::vector<PartStanding>& nodes, int count,
                                             const schedule::Resources& needs) {
    std::vector<PartStanding> ready;
    for (const PartStanding& node : nodes) {
        if (node.isThere && withinNode(needs, node.total).fitsIn(node.free)) {
            ready.push_back(node);
        }
    }
    std::stable_sort(ready.begin(), ready.end(), [](const PartStanding& a, const PartStanding& b) {
        return std::make_pair(-a.free.cpus, a.name) < std::make_pair(-b.free.cpus, b.name);
    });
    if (ready.size() < static_cast<std::size_t>(count)) {
        std::string names;
        for (const PartStanding& node : ready) {
            strAppend(&names, names.empty() ? "" : ", ", node.name);
        }
        return unavailable("needs ", count, count == 1 ? " node" : " nodes",
                           " beside the head's with ", amounts(needs),
                           " free for each; ready: ", names.empty() ? "none" : names,
                           " (millrace nodes)");
    }
    std::vector<std::string> chosen;
    for (int i = 0; i < count; ++i) {
        chosen.push_back(ready[static_cast<std::size_t>(i)].name);
    }
    return chosen;
}

}  // namespace millrace::agent

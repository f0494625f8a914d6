#include "tests/sim/leftovers.h"

#include <vector>

#include "tests/sim/cluster_head.h"

namespace millrace::sim {

std::string Leftovers::find() const {
    const std::string found = onMachines();
    return found.empty() ? inHead() : found;
}

std::string Leftovers::onMachines() const {
    for (const auto& machine : cluster_.machines_) {
        for (const std::string& run : cluster_.runs_) {
            if (const std::string files = machine->filesLeft(run); !files.empty()) {
                return files + " is left";
            }
        }
        if (!machine->tunnels.empty()) {
            return strCat("the tunnel of ", *machine->tunnels.begin(), " is left on ",
                          machine->name);
        }
        for (const auto& [key, gang] : machine->gangs) {
            for (const auto& worker : gang.workers) {
                if (!worker->state.exitCode.has_value()) {
                    return strCat(worker->state.name, " of ", key, " lives on ", machine->name);
                }
            }
        }
    }
    return "";
}

std::string Leftovers::inHead() const {
    if (const auto counts = cluster_.head_->controller->counts();
        counts.running + counts.queued > 0) {
        return strCat("the controller has ", counts.running, " runs, and ", counts.queued, " wait");
    }
    if (!cluster_.head_->listeners.empty()) {
        return "the door of " + cluster_.head_->listeners.begin()->first + " is open";
    }
    if (const auto live = cluster_.head_->live.all(); !live.empty()) {
        return live.begin()->first + " is shown as under way";
    }
    std::vector<agent::NodeStatus> nodes = cluster_.head_->nodes->standings();
    nodes.push_back(cluster_.head_->nodes->standing(""));
    for (const agent::NodeStatus& node : nodes) {
        if (node.numPlaced > 0 || node.free.cpus < node.total.cpus) {
            return strCat("something is still placed on '", node.name, "'");
        }
    }
    return "";
}

}  // namespace millrace::sim

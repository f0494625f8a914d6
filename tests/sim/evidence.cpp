#include "tests/sim/evidence.h"

#include <algorithm>

#include "tests/sim/sim_engine.h"

namespace millrace::sim {

std::vector<Rank*> ranksOf(const Machines& machines, const std::string& run, int attempt) {
    std::vector<Rank*> found;
    for (const auto& machine : machines) {
        for (auto& [key, gang] : machine->gangs) {
            for (auto& worker : gang.workers) {
                if (auto* rank = dynamic_cast<Rank*>(worker.get());
                    rank != nullptr && rank->run() == run && rank->attempt() == attempt) {
                    found.push_back(rank);
                }
            }
        }
    }
    return found;
}

double Terms::cores(int part, bool isOnHead) const {
    return threads * ranks / parts + (part == 0 ? 1 + (isOnHead ? dataWorkersLeast() : 0) : 0);
}

Evidence::Evidence(World& world, const Machines& machines, bool trainsHere)
    : world(world),
      machines(machines),
      trainsHere(trainsHere),
      apartNs(machines.size(), -kReachedNs) {}

bool Evidence::isReached(const Machine& machine) const {
    return nowNs() - apartNs[static_cast<std::size_t>(machine.number)] >= kReachedNs;
}

bool Evidence::isCalm() const {
    return machines.front()->agent.isAlive() &&
           std::all_of(machines.begin(), machines.end(), [this](const auto& one) {
               const bool isApart = one->number > 0 && one->hasBegun && !isReached(*one);
               return !isApart && !one->isToBeLeft && !one->isOff() && one->disk.isWell() &&
                      one->startsNs == 0 && !one->agent.isPaused() &&
                      nowNs() >= std::max(one->unreadableUntilNs, one->noTunnelUntilNs);
           });
}

double Evidence::coresTaken(const Machine& machine, const std::string& butRun) const {
    double cores = 0;
    for (const auto& [key, gang] : machine.gangs) {
        const auto name = agent::PartName::parse(key);
        const auto course = name.has_value() ? courses.find(name->run) : courses.end();
        const bool counts = course != courses.end() && name->run != butRun && gang.hasLiving() &&
                            gang.state.cause == engines::Cause::kNone &&
                            name->attempt == course->second.attempt &&
                            !course->second.blamed.contains(name->attempt);
        cores += counts ? course->second.terms.cores(name->part, machine.number == 0) : 0;
    }
    return cores;
}

bool Evidence::hasRoom(const std::string& run) const {
    const Terms& terms = courses.at(run).terms;
    int part = 0;
    for (const auto& machine : machines) {
        const bool isHead = machine->number == 0;
        if (isHead ? !trainsHere : !machine->agent.isAlive()) {
            continue;
        }
        const bool fits =
            coresTaken(*machine, run) + terms.cores(part, isHead) <= kCores && part < terms.parts;
        if (isHead && !fits) {
            return false;
        }
        part += fits ? 1 : 0;
    }
    return part == terms.parts;
}

void Evidence::wrong(const std::string& what) {
    problems.push_back(what);
    world.tell("WRONG: " + what);
}

// Names the run only if there is more than one.
void Evidence::wrongOf(const std::string& run, const std::string& what) {
    const auto number = std::distance(courses.begin(), courses.find(run));
    wrong(courses.size() == 1 ? what : strCat(what, " (run ", number + 1, " by name)"));
}

}  // namespace millrace::sim

#include "tests/sim/faults.h"

#include <memory>

#include "tests/sim/cluster_head.h"

namespace millrace::sim {

void Faults::happen(const Plan::Fault& fault) {
    using Kind = Plan::Kind;
    Machine& node = *cluster_.machines_[static_cast<std::size_t>(fault.node)];
    cluster_.world.tell(strCat("FAULT: ", sentenceOf(fault)));
    switch (fault.kind) {
        case Kind::kPauseHead:
            cluster_.head().agent.pause(fault.forMs * kMs);
            break;
        case Kind::kPauseAgent:
            node.agent.pause(fault.forMs * kMs);
            break;
        case Kind::kKillHead:
            if (cluster_.head_ != nullptr) {
                cluster_.killHead();
                cluster_.world.after(fault.forMs * kMs, [this] { cluster_.startHead(); });
            }
            break;
        case Kind::kKillAgent:
            if (node.agent.isAlive()) {
                cluster_.killAgent(node);
                cluster_.world.after(fault.forMs * kMs,
                                     [this, &node] { cluster_.startAgent(node); });
            }
            break;
        case Kind::kCut:
            node.cable.cut(To::kHead, fault.forMs * kMs);
            node.cable.cut(To::kNode, fault.forMs * kMs);
            break;
        case Kind::kCutOneWay:
            node.cable.cut(fault.isUp ? To::kHead : To::kNode, fault.forMs * kMs);
            break;
        case Kind::kKillRank:
            killRank(fault);
            break;
        case Kind::kKillData:
            killDataWorker(fault.rank);
            break;
        case Kind::kUnreadable:
            if (cluster_.head_ != nullptr) {
                cluster_.head().unreadableUntilNs = cluster_.world.nowNs() + fault.forMs * kMs;
                cluster_.killHead();
                cluster_.world.after(kSecond, [this] { cluster_.startHead(); });
            }
            break;
        case Kind::kNoTunnel:
            if (node.agent.isAlive()) {
                node.noTunnelUntilNs = cluster_.world.nowNs() + fault.forMs * kMs;
                cluster_.killAgent(node);
                cluster_.world.after(kSecond, [this, &node] { cluster_.startAgent(node); });
            }
            break;
        case Kind::kDrain:
            drain(fault, true);
            break;
        case Kind::kLeave:
            leave(fault);
            break;
        case Kind::kStop:
            if (cluster_.head_ != nullptr && !cluster_.head().agent.isPaused() &&
                cluster_.head_->controller
                    ->stop(cluster_.run_, "asked to", std::chrono::seconds(30))
                    .ok()) {
                cluster_.judge_->blame("it was stopped");
                cluster_.world.after(40 * kSecond, [this] { resume(); });
            }
            break;
        default:
            happenToMachine(fault, node);
    }
}

void Faults::happenToMachine(const Plan::Fault& fault, Machine& node) {
    using Kind = Plan::Kind;
    switch (fault.kind) {
        case Kind::kDiskFull:
        case Kind::kDiskFails:
            failDisk(fault);
            break;
        case Kind::kPowerCut:
            cutPower(node, fault.forMs * kMs);
            break;
        case Kind::kClockJump:
            node.clock.jump((fault.isUp ? 1 : -1) * fault.forMs * Plan::kJump);
            break;
        case Kind::kSecondHead:
            startSecondHead();
            break;
        case Kind::kUpgrade:
            upgrade(fault.forMs * kMs);
            break;
        case Kind::kTwin:
            startTwin(fault);
            break;
        case Kind::kSlowStart:
            slowDown(node, fault);
            break;
        default:
            INVARIANT(false, "each kind is a process's, a run's or a machine's");
    }
}

void Faults::killRank(const Plan::Fault& fault) {
    for (Rank* rank : ranksOf(cluster_.machines_, cluster_.run_, cluster_.judge_->attempt())) {
        if (rank->state.rank != fault.rank || rank->state.exitCode.has_value()) {
            continue;
        }
        // Two attempts without a step in a row end a run, as scripts.md says.
        if (rank->begun() == rank->resumedFrom()) {
            return cluster_.world.after(kSecond, [this, fault] { happen(fault); });
        }
        cluster_.judge_->rankKilled(*rank);
        rank->end(137);
    }
}

// The first one from that number on, over all machines.
void Faults::killDataWorker(int number) {
    std::vector<Worker*> living;
    for (const auto& machine : cluster_.machines_) {
        for (auto& [key, gang] : machine->gangs) {
            const bool isData = agent::DataWorkerName::parse(key).has_value();
            if (isData && !gang.workers.empty() &&
                !gang.workers.front()->state.exitCode.has_value()) {
                living.push_back(gang.workers.front().get());
            }
        }
    }
    if (!living.empty()) {
        living[static_cast<std::size_t>(number) % living.size()]->end(137);
    }
}

// An operator who asks until the head takes it.
void Faults::drain(const Plan::Fault& fault, bool isDrained) {
    const std::string name = strCat("node", fault.node);
    if (cluster_.head_ == nullptr || cluster_.head().agent.isPaused() ||
        !cluster_.head_->table->drain(name, isDrained).ok()) {
        return cluster_.world.after(kSecond, [this, fault, isDrained] { drain(fault, isDrained); });
    }
    cluster_.world.tell(strCat(name, isDrained ? " is drained" : " is not drained any more"));
    cluster_.machines_[static_cast<std::size_t>(fault.node)]->isToBeLeft = isDrained;
    if (isDrained) {
        cluster_.world.after(fault.forMs * kMs, [this, fault] { drain(fault, false); });
    }
}

void Faults::leave(const Plan::Fault& fault) {
    Machine& node = *cluster_.machines_[static_cast<std::size_t>(fault.node)];
    const auto i = static_cast<std::size_t>(fault.node);
    if (!node.agent.isAlive() || node.agent.isPaused() || cluster_.slots_[i]->isOver()) {
        return;
    }
    node.isToBeLeft = true;
    cluster_.slots_[i]->leave();
}

void Faults::failDisk(const Plan::Fault& fault) {
    Disk& disk = cluster_.machines_[static_cast<std::size_t>(fault.node)]->disk;
    if (fault.kind == Plan::Kind::kDiskFull) {
        disk.fill(fault.forMs * kMs);
    } else if (fault.isUp) {
        disk.failOnce(fault.forMs % 100);
    } else {
        disk.fail(fault.forMs * kMs);
    }
}

void Faults::cutPower(Machine& machine, std::int64_t ns) {
    if (machine.isOff()) {
        return;
    }
    const bool isHead = machine.number == 0;
    cluster_.judge_->losesPower(machine);
    for (const auto& one : cluster_.machines_) {
        if (isHead || one.get() == &machine) {
            one->cable.cut(To::kHead, ns);
            one->cable.cut(To::kNode, ns);
        }
    }
    if (isHead && cluster_.head_ != nullptr) {
        cluster_.killHead();
    } else if (!isHead && machine.agent.isAlive()) {
        cluster_.killAgent(machine);
    }
    machine.losePower(ns);
    cluster_.world.after(ns, [this, isHead, &machine] {
        cluster_.world.tell(machine.name + " has power again");
        isHead ? cluster_.startHead() : cluster_.startAgent(machine);
    });
}

void Faults::startSecondHead() {
    const bool isThere = cluster_.head_ != nullptr;
    Result<config::StateLock> lock = cluster_.takeStateDirectory();
    cluster_.world.tell("another head: " + std::string(messageOf(lock.status())));
    if (lock.ok() && isThere) {
        cluster_.judge_->wrong("two heads serve one state directory");
    }
}

// As a package manager does with all machines, and systemd with the head.
void Faults::upgrade(std::int64_t ns) {
    for (const auto& machine : cluster_.machines_) {
        machine->program += "+";
    }
    if (cluster_.head_ != nullptr) {
        cluster_.killHead();
        cluster_.world.after(ns, [this] { cluster_.startHead(); });
    }
}

void Faults::startTwin(const Plan::Fault& fault) {
    Machine& first = *cluster_.machines_[static_cast<std::size_t>(fault.node)];
    Machine& twin = *cluster_.machines_.back();
    if (twin.agent.isAlive()) {
        return;
    }
    twin.nodeName = first.name;
    cluster_.startAgent(twin);
    cluster_.world.after(fault.forMs * kMs, [this, &twin, &first] { endTwin(twin, first); });
}

// Somebody has noticed, and sees to it that the first one runs alone.
void Faults::endTwin(Machine& twin, Machine& first) {
    if (twin.agent.isAlive()) {
        cluster_.killAgent(twin);
    }
    for (auto& [key, gang] : twin.gangs) {
        for (auto& worker : gang.workers) {
            worker->end(137);
        }
    }
    cluster_.startAgent(first);
}

void Faults::slowDown(Machine& machine, const Plan::Fault& fault) {
    machine.startsNs = fault.rank * kSecond;
    cluster_.world.after(fault.forMs * kMs, [&machine] { machine.startsNs = 0; });
}

// As a user does: until it is taken.
void Faults::resume() {
    if (cluster_.head_ == nullptr || cluster_.head().agent.isPaused()) {
        return cluster_.world.after(kSecond, [this] { resume(); });
    }
    const Result<runs::RunRecord> run = cluster_.head_->store->get(cluster_.run_);
    if (run.ok() && run->state == values::RunState::kCancelled) {
        Status status = cluster_.head_->controller->resume(cluster_.run_, values::kFromLast);
        if (!status.ok()) {  // there is no checkpoint yet
            status = cluster_.head_->controller->resume(cluster_.run_, values::kFromStart);
        }
        cluster_.world.tell("resume: " + std::string(messageOf(status)));
        cluster_.poke();
    } else if (run.ok() && !values::isEnded(run->state)) {
        cluster_.world.after(kSecond, [this] { resume(); });
    }
}

}  // namespace millrace::sim

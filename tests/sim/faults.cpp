#include "tests/sim/faults.h"

#include <algorithm>
#include <memory>

#include "tests/sim/cluster_head.h"

namespace millrace::sim {
namespace {

// A stopped process stays stopped; after the second time an operator notices it.
constexpr std::int64_t kStoppedNs = 3'600 * kSecond, kStoppedForNs = 30 * kSecond;

}  // namespace

void Faults::happen(const Plan::Fault& fault) {
    using Kind = Plan::Kind;
    Machine& node = *cluster_.machines_[static_cast<std::size_t>(fault.node)];
    cluster_.world.tell(strCat("FAULT: ", sentenceOf(fault)));
    if (cluster_.runs_.empty()) {
        return cluster_.world.after(kSecond, [this, fault] { happen(fault); });
    }
    cluster_.judge_->excuse(fault.forMs * kMs);
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
            cutCable(node, fault.forMs);
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
        default:
            happenToRun(fault, node);
    }
}

void Faults::happenToRun(const Plan::Fault& fault, Machine& node) {
    using Kind = Plan::Kind;
    switch (fault.kind) {
        case Kind::kStop:
            stop(cluster_.runs_.front(), std::chrono::seconds(30), true);
            break;
        case Kind::kStopTwice:
            stop(cluster_.runs_.front(), std::chrono::seconds(600), true);
            cluster_.world.after(fault.forMs * kMs / 2, [this] {
                stop(cluster_.runs_.front(), std::chrono::seconds(5), true);
            });
            break;
        case Kind::kCancel:
            cancel(cluster_.runs_.back());
            break;
        case Kind::kSubmit:
            submit(fault);
            break;
        case Kind::kHang:
            hang(fault);
            break;
        case Kind::kSpoilt:
            spoil(fault.isUp ? cluster_.runs_.back() : cluster_.runs_.front());
            break;
        case Kind::kRefused:
            refuse(fault);
            break;
        case Kind::kClients:
            cluster_.clients_.come(fault.forMs * kMs);
            break;
        case Kind::kAdoptFails:
            failAtAdoption(fault);
            break;
        case Kind::kDoneFails:
            failAtEnd(fault);
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
        case Kind::kUsurper:
            cutCable(node, fault.forMs);
            startTwin(fault);
            break;
        case Kind::kLease:
            cutCable(node, fault.forMs);
            break;
        case Kind::kStray:
            leaveStray(node);
            break;
        default:
            INVARIANT(false, "each kind is a process's, a run's or a machine's");
    }
}

void Faults::cutCable(Machine& node, std::int64_t ms) {
    node.cable.cut(To::kHead, ms * kMs);
    node.cable.cut(To::kNode, ms * kMs);
}

// Stops a run as a user would, without a second try.
void Faults::stop(const std::string& run, std::chrono::seconds grace, bool isToResume) {
    if (!cluster_.canAsk() || !cluster_.head_->controller->stop(run, "asked to", grace).ok()) {
        return;
    }
    cluster_.judge_->stopped(run, grace.count() * kSecond);
    cluster_.poke();
    if (isToResume) {
        cluster_.world.after(40 * kSecond, [this] { resume(); });
    }
}

void Faults::cancel(const std::string& run) {
    if (run != cluster_.runs_.front()) {
        cluster_.judge_->mayEnd(run, values::RunState::kCancelled);
        stop(run, std::chrono::seconds(10), false);
    }
}

void Faults::submit(const Plan::Fault& fault) {
    Terms terms;
    terms.parts = std::min(
        fault.node, cluster_.plan.trainsHere ? 1 + cluster_.plan.nodes : cluster_.plan.nodes);
    terms.ranks = terms.parts;
    terms.threads = fault.rank;
    terms.steps = std::clamp<std::int64_t>(fault.forMs / 100, 10, 200);
    for (int i = fault.isUp ? 2 : 1; i > 0; --i) {
        if (!cluster_.canAsk() || cluster_.submit(terms).empty()) {
            return cluster_.world.after(kSecond, [this, fault] { submit(fault); });
        }
    }
}

void Faults::hang(const Plan::Fault& fault) {
    const std::string& run = cluster_.runs_.front();
    for (Rank* rank : ranksOf(cluster_.machines_, run, cluster_.judge_->attemptOf(run))) {
        if (rank->state.rank == fault.rank) {
            rank->hang(fault.forMs * kMs);
            cluster_.judge_->hangs(fault.forMs * kMs);
            // A rank that is leaving has train.exit_minutes for that, so it is not stopped.
            fault.isUp && !rank->isLeaving() ? stopProcess(*rank) : void();
        }
    }
}

// Stops the process as SIGSTOP does. The rank gives no sign of life, so the head must end it; a
// head that starts only now must too if the store has lines of the rank. Without such lines the
// head knows nothing of the rank, and an operator kills it.
void Faults::stopProcess(Rank& rank) {
    rank.hang(kStoppedNs);
    rank.life.pause(kStoppedNs);
    cluster_.judge_->blame(rank.run(), "a rank is stopped");
    awaitEnd(rank, rank.begun() > rank.resumedFrom() + 1);
}

void Faults::awaitEnd(Rank& rank, bool isHeard) {
    cluster_.judge_->hangs(kStoppedForNs);
    cluster_.world.after(kStoppedForNs, [this, &rank, isHeard] {
        if (rank.state.exitCode.has_value()) {
            return;
        }
        const bool isCalm = cluster_.judge_->isCalmSince(cluster_.world.nowNs() - kStoppedForNs);
        // A user's stop has its own grace period.
        if (rank.wasAcked() && (!isCalm || cluster_.judge_->isStopped(rank.run()))) {
            return awaitEnd(rank, true);
        }
        if (isCalm && isHeard) {
            cluster_.judge_->wrong("a rank that is stopped is not ended");
        }
        cluster_.judge_->rankKilled(rank);
        rank.end(137);
    });
}

// Leaves a gang that the store does not know, as after the restore of an older state directory.
void Faults::leaveStray(Machine& machine) {
    engines::Gang gang = agent::dataGang({"r-stray", 1, 0});
    gang.key = "r-stray.a1";
    gang.groups.front().name = "feed";
    SimEngine engine(machine);
    (void)engine.submit(gang);
}

void Faults::spoil(const std::string& run) {
    if (cluster_.head_ == nullptr) {
        return;
    }
    cluster_.killHead();
    cluster_.world.after(kSecond, [this] { cluster_.startHead(); });
    const Status done = cluster_.changeStore(
        strCat("UPDATE run_document SET text = '{' WHERE kind = 'resolved' AND run_no = "
               "(SELECT no FROM run WHERE id = '",
               run, "')"));
    if (!done.ok()) {
        return cluster_.world.after(5 * kSecond,
                                    [this, run] { spoil(run); });  // the head's disk fails too
    }
    cluster_.judge_->mayEnd(run, values::RunState::kFailed);
    cluster_.judge_->blame(run, "its spec cannot be read");
}

// Simulates a damaged page of the store: rows of these steps cannot be written, for any run.
void Faults::refuse(const Plan::Fault& fault) {
    const std::string& run = cluster_.runs_.front();
    std::int64_t first = 0;
    for (const Rank* rank : ranksOf(cluster_.machines_, run, cluster_.judge_->attemptOf(run))) {
        first = std::max(first, rank->begun() + 1);
    }
    const std::int64_t last = first + fault.rank - 1;
    const std::string damage =
        strCat("CREATE TRIGGER IF NOT EXISTS damaged_", first, "_", last,
               " BEFORE INSERT ON metric_line WHEN new.step "
               "BETWEEN ",
               first, " AND ", last, " BEGIN SELECT RAISE(ABORT, 'damaged'); END");
    if (first == 0 || !cluster_.canAsk() || !cluster_.changeStore(damage).ok()) {
        return cluster_.world.after(kSecond, [this, fault] { refuse(fault); });
    }
    cluster_.judge_->refused(first, last);
}

void Faults::failAtAdoption(const Plan::Fault& fault) {
    if (cluster_.head_ == nullptr) {
        return;
    }
    Disk& disk = cluster_.machines_[static_cast<std::size_t>(fault.node)]->disk;
    cluster_.killHead();
    cluster_.world.after(kSecond, [this] { cluster_.startHead(); });
    cluster_.world.after(kSecond + cluster_.world.draw(1, 1'500 * kMs),
                         [&disk, fault] { disk.fail(fault.forMs * kMs); });
}

// The disk fails when the ranks have taken their last step or are about to: their reports of it
// cannot be written.
void Faults::failAtEnd(const Plan::Fault& fault) {
    const std::string& run = cluster_.runs_.front();
    const auto ranks = ranksOf(cluster_.machines_, run, cluster_.judge_->attemptOf(run));
    const bool isNear = std::any_of(ranks.begin(), ranks.end(), [&](const Rank* rank) {
        return !rank->state.exitCode.has_value() && rank->begun() >= cluster_.plan.steps - 1;
    });
    if (!isNear) {
        return cluster_.world.after(50 * kMs, [this, fault] { failAtEnd(fault); });
    }
    cluster_.head().disk.fail(fault.forMs * kMs, fault.rank % 2 == 1 ? "/done.json" : "");
    if (fault.isUp) {
        cluster_.world.after(cluster_.world.draw(2 * kSecond), [this, fault] {
            killRank({.kind = Plan::Kind::kKillRank, .rank = fault.rank});
        });
    }
}

// Waits until the head has received a step of the attempt: an attempt without one costs the run its
// next attempt, as scripts.md says.
void Faults::killRank(const Plan::Fault& fault) {
    const std::string& run = cluster_.runs_.front();
    const auto ranks = ranksOf(cluster_.machines_, run, cluster_.judge_->attemptOf(run));
    const bool isHeard = std::all_of(ranks.begin(), ranks.end(), [&](const Rank* rank) {
        return rank->begun() > rank->resumedFrom() + 1 &&
               (!fault.isUp || rank->state.rank > 0 || rank->numUnacked() == 0);
    });
    for (Rank* rank : ranks) {
        if (rank->state.rank != fault.rank || rank->state.exitCode.has_value()) {
            continue;
        }
        if (!isHeard) {
            return cluster_.world.after(kSecond, [this, fault] { happen(fault); });
        }
        cluster_.judge_->rankKilled(*rank);
        fault.isUp ? rank->fail() : rank->end(137);
    }
}

// Kills one of the living data workers of all machines, chosen by `number`.
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

// Drains a node as an operator would, and repeats the request until the head accepts it.
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

// Installs another build, as a package manager does on all machines and systemd for the head.
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

// An operator has noticed the twin, and ensures that only the first agent runs.
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

// Resumes the run as a user would, and repeats the request until the head accepts it.
void Faults::resume() {
    if (cluster_.head_ == nullptr || cluster_.head().agent.isPaused()) {
        return cluster_.world.after(kSecond, [this] { resume(); });
    }
    const Result<runs::RunRecord> run = cluster_.head_->store->get(cluster_.runs_.front());
    if (run.ok() && run->state == values::RunState::kCancelled) {
        Status status =
            cluster_.head_->controller->resume(cluster_.runs_.front(), values::kFromLast);
        if (!status.ok()) {  // there is no checkpoint yet
            status = cluster_.head_->controller->resume(cluster_.runs_.front(), values::kFromStart);
        }
        cluster_.world.tell("resume: " + std::string(messageOf(status)));
        if (!status.ok()) {
            return cluster_.world.after(kSecond, [this] { resume(); });
        }
        cluster_.judge_->resumed(cluster_.runs_.front());
        cluster_.poke();
    } else if (run.ok() && !values::isEnded(run->state)) {
        cluster_.world.after(kSecond, [this] { resume(); });
    }
}

}  // namespace millrace::sim

#include "tests/sim/machine.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "backend/engines/gang_files.h"
#include "backend/filesystem/files.h"
#include "backend/job/attempt_paths.h"
#include "backend/values/metric_names.h"
#include "tests/sim/cluster.h"
#include "tests/sim/rank.h"

namespace millrace::sim {
namespace {

using engines::Cause;
using engines::Phase;

/// A feed or a relay that only exists. A feed writes the file with which its workers join.
class Sitter final : public Worker {
 public:
    using Worker::Worker;
    void begin() override {
        if (state.name == job::kFeed) {
            life.after(cluster.world.draw(50 * kMs, kSecond), [this] { saysWhereToJoin(); });
        }
        life.every(500 * kMs, [this] {
            if (cluster.areRanksDone(gang)) {
                end(0);
            }
        });
        life.every(kSecond, [this] { tellFigures(); });
    }
    void end(int code) override {
        if (connection_ != nullptr) {
            connection_->wire->close(To::kHead);
        }
        Worker::end(code);
    }

 private:
    // Reports figures from the start, before any rank has taken a step. A lost line is not sent
    // again.
    void tellFigures() {
        const std::size_t at = gang.rfind(".a");
        const int attempt = std::stoi(gang.substr(at + 2));
        const bool isOpen = connection_ != nullptr && connection_->wire->isOpen(To::kNode) &&
                            connection_->wire->isOpen(To::kHead);
        if (!isOpen) {
            const int number = state.name == job::kFeed ? 0 : std::stoi(state.name.substr(4));
            connection_ = cluster.links().connect(
                *this, {gang.substr(0, at), attempt, "feed", number, state.pid, 1'000});
        }
        if (connection_ != nullptr) {
            cluster.links().say(connection_, {0, -1, rank::Alive{}, 0});
            const double wanted = cluster.judge().termsOf(gang.substr(0, at)).dataWorkers;
            cluster.links().say(
                connection_, {++seq_, attempt,
                              rank::Metrics{0,
                                            0,
                                            0,
                                            machine.clock.wallMs(),
                                            {{"rows_computed", double(seq_)},
                                             {values::metric::kLoaderDataWorkersWanted, wanted}}},
                              0});
        }
    }
    void saysWhereToJoin() {
        const std::size_t at = gang.rfind(".a");
        const job::AttemptPaths paths = job::RunPaths(machine.root + "/runs", gang.substr(0, at))
                                            .attempt(std::stoi(gang.substr(at + 2)));
        if (!writeFileAtomic(paths.joinFile(), "join " + gang, 0600).ok()) {
            life.after(kSecond, [this] { saysWhereToJoin(); });
        }
    }
    std::shared_ptr<RankConnection> connection_;
    std::uint64_t seq_ = 0;
};

/// A data worker, which computes until it is ended. Workers of an unknown run behave the same.
class DataWorker final : public Worker {
 public:
    using Worker::Worker;
    void begin() override {}
};

constexpr std::size_t kReplacements = 16;  // as in dataGang()

}  // namespace

bool SimGang::hasLiving() const {
    return std::any_of(workers.begin(), workers.end(),
                       [](const auto& worker) { return !worker->state.exitCode.has_value(); });
}

std::unique_ptr<Worker> Worker::make(Machine& machine, const std::string& gang,
                                     engines::WorkerState state) {
    Cluster& cluster = machine.cluster;
    if (state.rank >= 0) {
        return std::make_unique<Rank>(cluster, machine, gang, std::move(state));
    }
    const auto part = agent::PartName::parse(gang);
    if (!part.has_value() || !cluster.judge().knows(part->run)) {
        return std::make_unique<DataWorker>(cluster, machine, gang, std::move(state));
    }
    return std::make_unique<Sitter>(cluster, machine, gang, std::move(state));
}

Worker::Worker(Cluster& cluster, Machine& machine, std::string gang, engines::WorkerState state)
    : cluster(cluster),
      machine(machine),
      life(cluster.world),
      gang(std::move(gang)),
      state(std::move(state)) {}

void Worker::terminate() {
    life.after(cluster.world.draw(50 * kMs), [this] { end(143); });
}

void Worker::end(int code) {
    if (state.exitCode.has_value()) {
        return;
    }
    life.end();
    state.exitCode = code;
    state.signal = code > 128 ? code - 128 : 0;
    state.endedMs = machine.clock.wallMs();
    cluster.world.tell(strCat(machine.name, ": ", gang, " ", state.name, " ends with ", code));
}

Machine::Machine(Cluster& cluster, std::string name, int number, bool isForgetful)
    : cluster(cluster),
      name(std::move(name)),
      root(cluster.root + "/" + this->name),
      number(number),
      clock(cluster.world, 1'700'000'000'000 + cluster.world.draw(-3'600'000, 3'600'000),
            cluster.world.draw(1, 1'000'000) * kMs),
      disk(cluster.world, root, isForgetful),
      cable(cluster.world),
      agent(cluster.world),
      pid(1'000 * (number + 1)),
      nodeName(this->name),
      program(kFirstBuild) {
    std::filesystem::create_directories(root + "/runs");
}

bool Machine::isOff() const {
    return cluster.world.nowNs() < offUntilNs;
}

void Machine::losePower(std::int64_t ns) {
    offUntilNs = cluster.world.nowNs() + ns;
    ++numBoots;
    tunnels.clear();
    for (auto& [key, gang] : gangs) {
        for (auto& worker : gang.workers) {
            if (!worker->state.exitCode.has_value()) {
                worker->state.isExitAssumed = true;
                worker->end(137);
            }
        }
    }
    disk.cutPower();
    // This process's boot is not the simulated one, so the lock must be older than either.
    const timespec longAgo[2] = {{}, {}};
    ::utimensat(AT_FDCWD, (root + "/millraced.lock").c_str(), longAgo, 0);
    cluster.workersChanged();
    // A gang whose record was not synced is forgotten.
    for (auto one = gangs.begin(); one != gangs.end();) {
        const std::string folder = *engines::gangDirectoryOf(root + "/runs", one->first);
        const auto record = engines::readGangRecord(folder, one->first);
        if (absl::IsNotFound(record.status()) && !one->second.isForgotten) {
            cluster.world.tell(strCat(name, ": nothing is known of ", one->first));
            lostGangs.push_back(std::move(one->second));
            one = gangs.erase(one);
        } else {
            ++one;
        }
    }
}

std::string Machine::filesLeft(const std::string& run) const {
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(strCat(root, "/runs/", run), error)) {
        if (number > 0 && nodeName == name && entry.path().filename().string().front() == 'a') {
            return entry.path().string();
        }
    }
    return "";
}

Worker* Machine::find(const std::string& worker) {
    for (auto& [key, gang] : gangs) {
        for (auto& one : gang.workers) {
            if (one->state.name == worker && !one->state.exitCode.has_value()) {
                return one.get();
            }
        }
    }
    return nullptr;
}

void Machine::cancel(SimGang& gang, Cause cause, std::int64_t graceNs, const std::string& why) {
    engines::State& state = gang.state;
    if (state.phase == Phase::kEnded || state.cause != Cause::kNone) {
        return;
    }
    state.phase = Phase::kStopping;
    state.cause = cause;
    state.reason = why;
    for (auto& worker : gang.workers) {
        if (!worker->state.exitCode.has_value()) {
            worker->terminate();
            // The guardian kills the worker, whatever the worker does.
            cluster.world.after(graceNs, [one = worker.get()] { one->end(137); });
        }
    }
}

// Frees the place of a data worker that failed.
void Machine::leaveVacant(SimGang& gang) {
    const bool isOne = gang.workers.size() == 1 && !gang.workers.front()->state.isCritical;
    if (!isOne || gang.state.cause != Cause::kNone || gang.gone.size() >= kReplacements) {
        return;
    }
    const engines::WorkerState& worker = gang.workers.front()->state;
    if (worker.exitCode.value_or(0) != 0 && !worker.isExitAssumed) {
        gang.gone.push_back(std::move(gang.workers.front()));
        gang.workers.clear();
        gang.state.workers.clear();
        gang.state.phase = Phase::kSubmitting;
    }
}

void Machine::look(SimGang& gang) {
    engines::State& state = gang.state;
    if (state.phase == Phase::kEnded) {
        return;
    }
    leaveVacant(gang);
    if (gang.isVacant()) {
        return;
    }
    state.workers.clear();
    const bool hasCritical =
        std::any_of(gang.workers.begin(), gang.workers.end(),
                    [](const auto& worker) { return worker->state.isCritical; });
    bool areAllGone = true, isCriticalLeft = false;
    const Worker* failed = nullptr;
    for (const auto& worker : gang.workers) {
        const engines::WorkerState& one = worker->state;
        state.workers.push_back(one);
        areAllGone = areAllGone && one.exitCode.has_value();
        const bool counts = one.isCritical || !hasCritical;
        isCriticalLeft = isCriticalLeft || (counts && !one.exitCode.has_value());
        const bool isFailure = counts && one.exitCode.value_or(0) != 0;
        if (isFailure && (failed == nullptr || one.endedMs < failed->state.endedMs)) {
            failed = worker.get();
        }
    }
    constexpr std::int64_t kGraceNs = 15 * kSecond;
    if (state.cause == Cause::kNone && failed != nullptr) {
        state.worker = failed->state.name;
        state.exitCode = *failed->state.exitCode;
        cancel(gang, Cause::kWorkerFailed, kGraceNs,
               strCat(failed->state.name, " ended with exit code ", *failed->state.exitCode));
    } else if (state.cause == Cause::kNone && !isCriticalLeft) {
        cancel(gang, Cause::kOk, kGraceNs, "");
    }
    if (areAllGone) {
        state.cause = state.cause == Cause::kNone ? Cause::kOk : state.cause;
        state.phase = Phase::kEnded;
    }
    state.asOfMs = clock.wallMs();
}

}  // namespace millrace::sim

#include "daemon/nodes/slot.h"

#include <algorithm>
#include <filesystem>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include <unistd.h>

#include "backend/core/ids.h"
#include "backend/core/log.h"
#include "backend/core/thread.h"
#include "backend/core/transient.h"
#include "backend/engines/embedded_engine.h"
#include "backend/filesystem/files.h"
#include "backend/job/attempt_paths.h"
#include "backend/system/pid_scope.h"
#include "backend/system/pipe.h"
#include "backend/telemetry/probes.h"
#include "daemon/nodes/file_mover.h"
#include "daemon/nodes/head_link.h"
#include "daemon/nodes/messages.h"
#include "daemon/nodes/node_share.h"
#include "daemon/nodes/placed_files.h"
#include "daemon/nodes/rank_tunnel.h"
#include "proto/convert/node_convert.h"

namespace millrace::nodes {
namespace {

constexpr std::chrono::milliseconds kTurn{200}, kIdleTurn{1'000};
// Longer than the guardians' lease of 10 minutes: workers that could not be asked for have ended by
// then.
constexpr std::int64_t kLostNs = 11 * 60 * 1'000'000'000LL;
constexpr std::chrono::milliseconds kEndGrace{2'000};
// In one report, of one log.
constexpr std::size_t kLogBytes = 256 << 10;

bool isEnd(const engines::State& state) {
    return state.phase == engines::Phase::kEnded || state.phase == engines::Phase::kMissing;
}

bool isPart(std::string_view key) {
    return agent::PartName::parse(key).has_value();
}

engines::State refused(const Status& why) {
    engines::State state;
    state.phase = engines::Phase::kEnded;
    state.cause = engines::Cause::kEngineFailed;
    state.reason = messageOf(why);
    return state;
}

}  // namespace

Slot::Slot(const config::DaemonConfig& config, const Clock& clock, std::function<void()> end,
           SlotParts parts)
    : config_(config),
      clock_(clock),
      life_(config_, clock, std::move(end)),
      logs_(config.runsDir()),
      parts_(std::move(parts)) {}

Status Slot::open(const std::string& buildId) {
    RETURN_IF_ERROR(makePrivateDirectory(config_.runsDir()));
    engines::EmbeddedOptions options;
    options.root = config_.runsDir();
    options.execProgram = config_.binDir + "/millrace-exec";
    telemetry_ = std::make_unique<agent::TelemetryService>(
        clock_, live_, config_.stateDir, std::string(config::daemonVersion()), nodeName(config_));
    parts_.info = telemetry_->info();
    const PidScope here = PidScope::ofThisProcess();
    parts_.machine = strCat(here.machine, " ", here.host, " ", config_.stateDir);
    RETURN_IF_ERROR(takeShare(config_.share, parts_.info));
    options.gpus = telemetry::usableGpus(parts_.info.gpus, nullptr);
    options.total.cpus = parts_.info.cores;
    options.total.memoryBytes = parts_.info.memoryBytes;
    if (config_.isBound) {
        RETURN_IF_ERROR(makePipe(lifeLine_, lifeEnd_));
        options.lifeFd = lifeLine_.get();
    }
    ASSIGN_OR_RETURN(parts_.engine, engines::EmbeddedEngine::open(options, clock_));
    const std::string tunnelKey = randomBytes(kTunnelKeyBytes);
    parts_.link = std::make_unique<HeadLink>(config_.joinFile, buildId, tunnelKey, clock_,
                                             [this] { news(); });
    parts_.files = std::make_unique<FileMover>(FileMoverOptions{
        config_.runsDir(), config_.joinFile, tunnelKey, std::uint64_t(config_.checkpointRate)});
    const RankTunnel::Way way{config_.joinFile, tunnelKey,
                              std::make_shared<transport::SharedChannel>()};
    parts_.openTunnel = [this, way](const agent::PartName& part) {
        const job::RunPaths run(config_.runsDir(), part.run);
        return RankTunnel::open(run.attempt(part.attempt), part.run, part.attempt, way);
    };
    thread_ = startThread("slot", [this](std::stop_token stop) { loop(stop); });
    return okStatus();
}

Result<std::unique_ptr<Slot>> Slot::start(const config::DaemonConfig& config,
                                          const std::string& buildId, const Clock& clock,
                                          std::function<void()> end) {
    auto slot = std::make_unique<Slot>(config, clock, std::move(end), SlotParts{});
    RETURN_IF_ERROR(slot->open(buildId));
    return slot;
}

Slot::~Slot() {
    if (thread_.joinable()) {
        thread_.request_stop();
        news();
        thread_.join();
    }
    parts_.link.reset();  // before the objects that its callback uses
}

void Slot::news() {
    MutexLock lock(mutex_);
    hasNews_ = true;
    wake_.notifyAll();
}

void Slot::loop(std::stop_token stop) {
    while (!stop.stop_requested()) {
        turn();
        const bool isIdle = parts_.link->isOpen() && gangs_.empty() && watch_ == nullptr;
        MutexLock lock(mutex_);
        if (!hasNews_ && !stop.stop_requested()) {
            wake_.waitFor(mutex_, isIdle ? kIdleTurn : kTurn);
        }
        hasNews_ = false;
    }
}

void Slot::turn() {
    for (const v1::HeadOrders& orders : parts_.link->take()) {
        obey(orders);
    }
    follow();
    const bool areOver = std::all_of(gangs_.begin(), gangs_.end(),
                                     [](const auto& gang) { return isEnd(gang.second); });
    if (const auto why =
            life_.look({parts_.link->isOpen(), areOver, gangs_.empty(), parts_.link->refusal()})) {
        endAll(*why);
    }
    if (parts_.link->isOpen()) {
        report();
    } else {
        watch_.reset();
        if (parts_.link->isDue()) {
            call();
        }
    }
}

// Reports all that lives here, and the parts that ended; the answer has what is placed here.
void Slot::call() {
    placed_.clear();
    told_.clear();
    isLookedThrough_ = false;
    life_.calls();
    values::NodeInfo info = parts_.info;
    info.stateDir = config_.stateDir;
    info.pid = ::getpid();
    info.address = ownAddress(config_);
    v1::AgentReport first;
    *first.mutable_attachment()->mutable_node() = convert::toProto(info);
    first.mutable_attachment()->set_machine(parts_.machine);
    first.mutable_attachment()->set_is_bound(config_.isBound);
    recallParts();
    addGangs(first);
    parts_.link->open(std::move(first));
}

// Only the release of a part shows that the head knows of its end, so ended parts are reported
// again.
void Slot::recallParts() {
    for (const std::string& key : parts_.engine->recordedKeys()) {
        if (!isPart(key) || gangs_.contains(key)) {
            continue;
        }
        if (const auto state = parts_.engine->state(key); state.ok()) {
            gangs_[key] = *state;
            hold(key, gangs_[key]);
        }
    }
}

void Slot::obey(const v1::HeadOrders& message) {
    const agent::NodeOrders orders = fromProto(message);
    life_.heard();
    // Starts nothing by an order of a connection that has ended: the head may have placed it
    // elsewhere by now, and repeats on the next connection what is placed here.
    for (const agent::NodeOrders::Placed& order : orders.placed) {
        parts_.link->isOpen() ? place(order) : void();
    }
    for (const auto& [key, request] : orders.ended) {
        cancel(key, request.grace, request.why);
        dropUnplaced(key);
        placed_[key].isReleased = true;
    }
    forgetOld();
    if (telemetry_ != nullptr && orders.wantsSamples != (watch_ != nullptr)) {
        watch_ = orders.wantsSamples ? telemetry_->watch() : nullptr;
    }
    if (orders.isEnd && !life_.isEnding()) {
        life_.endAll();
        endAll("the head ends this node's agent");
    }
}

void Slot::leave() {
    life_.askToLeave();
    news();
}

void Slot::endAll(std::string_view why) {
    logInfo("slot: ends all that is here", {{"why", why}, {"workers", gangs_.size()}});
    for (const auto& [key, state] : gangs_) {
        cancel(key, kEndGrace, why);
        dropUnplaced(key);
    }
}

// Removes the folders of attempt and run with the last worker in them. Returns whether that worked;
// on a failing disk it may work later.
bool Slot::forget(const std::string& key) {
    const auto owner = job::ownerOf(key);
    held_.erase(key);
    if (parts_.files != nullptr) {
        parts_.files->drop(key);
    }
    if (!owner.has_value()) {
        return true;
    }
    if (!parts_.engine->forget(key).ok()) {
        return false;
    }
    const job::RunPaths run(config_.runsDir(), owner->run);
    const job::AttemptPaths attempt = run.attempt(owner->attempt);
    const bool isLast = std::none_of(gangs_.begin(), gangs_.end(), [&](const auto& gang) {
        const auto other = job::ownerOf(gang.first);
        return other.has_value() && other->run == owner->run && other->attempt == owner->attempt;
    });
    std::error_code error;
    if (isLast && attempt.workers().empty()) {
        std::filesystem::remove_all(attempt.directory(), error);
        ::rmdir(run.directory().c_str());
    }
    return !error;
}

// Forgets data workers that ended while no head was connected, and that this head does not ask for.
void Slot::forgetOld() {
    if (std::exchange(isLookedThrough_, true)) {
        return;
    }
    for (const std::string& key : parts_.engine->recordedKeys()) {
        if (!isPart(key) && !placed_.contains(key) && !gangs_.contains(key)) {
            forget(key);
        }
    }
    forgetUnbegun();
}

// Removes files of attempts that were laid out here and never started because the machine lost its
// power.
void Slot::forgetUnbegun() const {
    std::set<std::pair<std::string, int>> begun;
    const auto keep = [&](const std::string& key) {
        if (const auto owner = job::ownerOf(key)) {
            begun.emplace(owner->run, owner->attempt);
        }
    };
    std::ranges::for_each(parts_.engine->recordedKeys(), keep);
    std::ranges::for_each(std::views::keys(placed_), keep);
    std::ranges::for_each(std::views::keys(gangs_), keep);
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(config_.runsDir(), error)) {
        const std::string id = entry.path().filename();
        const job::RunPaths run(config_.runsDir(), id);
        for (const int number : run.attempts()) {
            const job::AttemptPaths attempt = run.attempt(number);
            if (attempt.workers().empty() && !begun.contains({id, number})) {
                std::filesystem::remove_all(attempt.directory(), error);
            }
        }
        ::rmdir(run.directory().c_str());
    }
}

// Only a valid key may name a directory.
bool Slot::mayPlace(const std::string& key) const {
    const bool mayStart = !life_.isLeaving() || gangs_.contains(key);
    return !life_.isEnding() && mayStart && parts_.engine->gangDirectory(key).ok() &&
           job::ownerOf(key).has_value();
}

// Reports the state in any case, also that of a gang that ended while no head was connected.
void Slot::place(const agent::NodeOrders::Placed& order) {
    const std::string& key = order.placement.key;
    if (!mayPlace(key)) {
        return;
    }
    const auto owner = job::ownerOf(key);
    placed_[key] = {};
    for (const auto& [worker, offset] : order.logOffsets) {
        placed_[key].logs.push_back({{owner->run, owner->attempt, worker}, offset});
    }
    told_.erase(key);
    notLaidOut_[key] = order.placement;
    const Status status = begin(key);
    if (status.ok()) {
        return;
    }
    engines::State& state = gangs_[key];
    state.phase = engines::Phase::kSubmitting;  // errors that may pass are retried in the next turn
    state.reason = messageOf(status);
    if (!mayPass(status)) {
        giveUp(key, state, status);
    }
}

Status Slot::begin(const std::string& key) {
    RETURN_IF_ERROR(layOutOnce(key));
    RETURN_IF_ERROR(openTunnel(key));
    return start(key);
}

// kFailedPrecondition: this node does not see the run's checkpoints.
Status Slot::layOutOnce(const std::string& key) {
    const auto placement = notLaidOut_.find(key);
    if (placement == notLaidOut_.end()) {
        return okStatus();
    }
    const bool isKnown = parts_.engine->has(key).value_or(false);
    RETURN_IF_ERROR(isKnown ? okStatus() : checkProbe(placement->second));
    RETURN_IF_ERROR(layOut(config_.runsDir(), placement->second, ownInterface(config_)));
    notLaidOut_.erase(placement);
    return okStatus();
}

Status Slot::openTunnel(const std::string& key) {
    const auto name = agent::PartName::parse(key);
    if (!name.has_value() || tunnels_.contains(key)) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(tunnels_[key], parts_.openTunnel(*name));
    return okStatus();
}

Status Slot::start(const std::string& key) {
    const bool isFetched = parts_.files == nullptr || parts_.engine->has(key).value_or(false);
    RETURN_IF_ERROR(isFetched ? okStatus() : parts_.files->fetch(key));
    ASSIGN_OR_RETURN(const engines::Gang gang,
                     placedGang(config_.runsDir(), key, config_.binDir, parts_.info.name));
    const Status placed = parts_.engine->submit(gang);
    RETURN_IF_ERROR(absl::IsAlreadyExists(placed) ? okStatus() : placed);
    ASSIGN_OR_RETURN(gangs_[key], parts_.engine->state(key));
    return okStatus();
}

void Slot::cancel(const std::string& key, std::chrono::milliseconds grace, std::string_view why) {
    const Status asked = parts_.engine->cancel(key, grace, why);
    if (!asked.ok()) {
        logWarn("slot: worker not ended", {{"gang", key}, {"why", messageOf(asked)}});
    }
}

// A gang that could not be started yet is not retried. An agent that ends does not wait for gangs
// that it cannot ask for: their guardians end such workers.
void Slot::dropUnplaced(const std::string& key) {
    const auto gang = gangs_.find(key);
    const Result<bool> known = parts_.engine->has(key);
    const bool isUnplaced = known.ok() ? !*known : life_.isEnding();
    if (gang != gangs_.end() && isUnplaced) {
        gang->second = refused(cancelled("its end was asked for before it was started"));
        gang->second.cause = engines::Cause::kCancelled;
    }
}

// Takes the engine's states, and starts what is to be started or replaced.
void Slot::follow() {
    const auto all = parts_.engine->list();
    if (all.ok()) {
        for (const auto& [key, state] : *all) {
            gangs_[key] = state;
        }
    }
    for (auto& [key, state] : gangs_) {
        if (!isEnd(state)) {
            const bool isToStart = state.phase == engines::Phase::kSubmitting &&
                                   !life_.isEnding() && !life_.isLeaving();
            const Status status = isToStart ? begin(key) : openTunnel(key);
            if (!status.ok() && isToStart) {
                state.reason = messageOf(status);
            }
            if (!status.ok() && (!mayPass(status) || isOutOfReach(key))) {
                giveUp(key, state, status);
            }
        }
        // After begin(), because a gang that is placed again may have ended before.
        hold(key, state);
        if (isEnd(state)) {
            tunnels_.erase(key);
            troubles_.erase(key);
            unreachedNs_.erase(key);
            notLaidOut_.erase(key);
        }
    }
    showWorkers();
    const bool isHeard = parts_.link->isOpen() && (!life_.isEnding() || life_.isLeaving());
    if (!isHeard) {  // ends that cannot be reported are asked for again later
        std::erase_if(gangs_, [](const auto& gang) { return isEnd(gang.second); });
    }
}

// A part is over only when the head has its checkpoints and scores, unless this agent ends
// everything.
void Slot::hold(const std::string& key, engines::State& state) {
    state.handOver =
        parts_.files != nullptr && !life_.isEnding() ? parts_.files->handOver(key) : std::nullopt;
    if (!state.handOver.has_value()) {
        const auto held = held_.find(key);
        state.phase = held == held_.end() ? state.phase : held->second;
        held_.erase(key);
    } else if (isEnd(state)) {
        held_[key] = state.phase;
        state.phase = engines::Phase::kStopping;
    }
}

// Returns whether the gang could not be asked for during a time in which its workers cannot live
// without an agent: an agent on another machine or in another container started them over this
// state directory.
bool Slot::isOutOfReach(const std::string& key) {
    if (parts_.engine->has(key).ok()) {
        unreachedNs_.erase(key);
        return false;
    }
    const std::int64_t now = clock_.steadyNs();
    return now - unreachedNs_.try_emplace(key, now).first->second >= kLostNs;
}

// A living gang continues without its connection to the head, which is retried.
void Slot::giveUp(const std::string& key, engines::State& state, const Status& why) {
    if (state.phase == engines::Phase::kSubmitting) {
        const bool isUnseen = notLaidOut_.contains(key) && absl::IsFailedPrecondition(why);
        state = refused(why);
        state.cause = isUnseen ? engines::Cause::kRefused : state.cause;
    } else if (std::exchange(troubles_[key], std::string(messageOf(why))) != messageOf(why)) {
        logWarn("slot: no way to the head", {{"gang", key}, {"why", messageOf(why)}});
    }
}

// Registers the workers, so that their processes are sampled.
void Slot::showWorkers() {
    std::map<std::string, values::RunLive> runs;
    for (const auto& [key, state] : gangs_) {
        const auto owner = job::ownerOf(key);
        for (const engines::WorkerState& worker : state.workers) {
            const bool isRunning = worker.isStarted && !worker.exitCode.has_value();
            if (owner.has_value() && isRunning) {
                runs[owner->run].workers.push_back(
                    {worker.name, "running", static_cast<int>(worker.pid), 0, owner->attempt, ""});
            }
        }
    }
    live_.setAll(std::move(runs));
}

void Slot::addGangs(v1::AgentReport& report) {
    for (auto gang = gangs_.begin(); gang != gangs_.end();) {
        const auto& [key, state] = *gang;
        // Compares without the time spans, which grow.
        v1::GangReport plain = toProto(key, state, 0);
        plain.set_join_file(joinFileOfLead(config_.runsDir(), key));
        if (std::string text = plain.SerializeAsString(); told_[key] != text) {
            told_[key] = std::move(text);
            v1::GangReport& told = *report.add_gangs();
            told = toProto(key, state, clock_.wallMs());
            told.set_join_file(plain.join_file());
        }
        if (isEnd(state)) {
            told_.erase(key);
            gang = gangs_.erase(gang);
        } else {
            ++gang;
        }
    }
}

void Slot::addLogs(v1::AgentReport& report) {
    for (auto it = placed_.begin(); it != placed_.end();) {
        auto& [key, placed] = *it;
        bool isAll = true;
        for (Log& log : placed.logs) {
            isAll = sendLog(key, log, report) && isAll;
        }
        const bool isTold = !gangs_.contains(key);
        if (isAll && isTold && (placed.isReleased || !isPart(key)) && forget(key)) {
            it = placed_.erase(it);
            continue;
        }
        ++it;
    }
}

// Returns whether everything was sent before.
bool Slot::sendLog(const std::string& key, Log& log, v1::AgentReport& report) const {
    const auto block = logs_.read(log.key, log.sent, kLogBytes);
    const bool isAll = !block.ok() || (block->bytes.empty() && block->start == log.sent);
    if (block.ok() && !block->bytes.empty()) {
        v1::LogPart& part = *report.add_logs();
        part.set_key(key);
        part.set_worker(log.key.worker);
        part.set_start(block->start);
        part.set_lines(block->bytes);
        log.sent = block->end();
    } else if (block.ok()) {
        log.sent = block->start;  // a rotation has skipped these lines
    }
    return isAll;
}

void Slot::report() {
    if (!parts_.link->isReady()) {
        return;
    }
    v1::AgentReport report;
    addLogs(report);
    addGangs(report);
    if (watch_ != nullptr) {
        const agent::NodeReport sample = telemetry_->latest();
        if (sample.number != std::exchange(sampled_, sample.number)) {
            *report.mutable_sample() = convert::toProto(sample.sample);
        }
    }
    if (life_.isLeaving()) {
        report.mutable_leave()->set_grace_ms(life_.leaveMs());
        report.mutable_leave()->set_is_gone(gangs_.empty() && placed_.empty());
    }
    const bool isNews =
        report.gangs_size() + report.logs_size() > 0 || report.has_sample() || report.has_leave();
    if (isNews) {
        parts_.link->send(std::move(report));
    }
}

}  // namespace millrace::nodes

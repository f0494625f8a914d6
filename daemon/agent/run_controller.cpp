#include "daemon/agent/run_controller.h"

#include <algorithm>

#include "backend/core/log.h"
#include "backend/core/thread.h"
#include "daemon/agent/line_budget.h"

namespace millrace::agent {
namespace {

constexpr std::size_t kMailbox = 50'000;
// Room in the mailbox that workers' lines leave for other messages.
constexpr std::size_t kReserve = 5'000;
// The thread also wakes up without messages, to notice nodes that fall silent.
constexpr std::chrono::milliseconds kIdlePatience{500};
// Beyond the grace: for SIGKILL, the guardians' ends and the engine's next look.
constexpr std::chrono::milliseconds kDownExtra{10'000};
constexpr char kDownReason[] = "stopped by millrace down";

}  // namespace

RunController::RunController(ControllerOptions options, ControllerParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      checkpoints_(parts_.store, options_.runsDir),
      sides_([this](SideThread::Then then) { (void)mailbox_.push(std::move(then)); }),
      place_{.store = parts_.store,
             .listeners = parts_.listeners,
             .live = parts_.live,
             .checkpoints = checkpoints_,
             .side = sides_.files,
             .documents = sides_.documents,
             .counting = sides_.counting,
             .clock = parts_.clock,
             .logs = parts_.logs,
             .runsDir = options_.runsDir,
             .listener = [this](const std::string& runId) { return listenerFor(runId); },
             .find = [this](const std::string& runId) { return active(runId); },
             .nodes = parts_.nodes,
             .times = options_.times,
             .sharedCheckpoints = options_.sharedCheckpoints,
             .countValues = options_.countValues},
      intake_(parts_.store, parts_.clock),
      system_(parts_.system),
      mailbox_(kMailbox),
      strays_(parts_.engine, parts_.pokeEngine,
              [this](const std::string& run) {
                  return active(run) != nullptr  ? StrayGangs::Run::kFollowed
                         : unread_.contains(run) ? StrayGangs::Run::kUnread
                                                 : StrayGangs::Run::kNone;
              }),
      pace_(options_.tick.count() * kNsPerMs) {}

RunController::~RunController() {
    end();
    // The listeners' threads post into the mailbox, so they end before it does.
    active_.clear();
}

void RunController::end() {
    mailbox_.close();
    if (thread_.joinable()) {
        thread_.request_stop();
        thread_.join();
    }
    sides_.end();
}

void RunController::start() {
    sides_.start();
    thread_ = startThread("agent", [this](std::stop_token stop) { loop(stop); });
}

void RunController::loop(std::stop_token stop) {
    step();  // starts what an earlier daemon left in the queue
    while (!stop.stop_requested()) {
        constexpr int kAtOnce = 1'000;
        std::optional<Message> message = mailbox_.popFor(patience());
        for (int i = 0; message.has_value(); ++i) {
            (*message)();
            message = i < kAtOnce ? mailbox_.popFor(std::chrono::milliseconds(0)) : std::nullopt;
        }
        step();
    }
}

void RunController::drain() {
    while (auto message = mailbox_.popFor(std::chrono::milliseconds(0))) {
        (*message)();
    }
    flushAtNs_ = 0;
    step();
}

std::chrono::milliseconds RunController::patience() const {
    if (!intake_.isEmpty()) {
        return options_.commitDelay;
    }
    const bool isRetrying =
        isQueueChanged_ || !unread_.empty() || !strays_.isEmpty() || unreadNs_ != 0;
    return active_.empty() && !isRetrying ? kIdlePatience : options_.tick;
}

void RunController::step() {
    recordSystem();
    flushLines();
    if (!pace_.begin(parts_.clock.steadyNs())) {
        return;
    }
    for (auto& [id, run] : active_) {
        pace_.add(run->numWorkers());
        run->setStoreTrouble(intake_.trouble(id));
        run->tick(intake_.isEmpty(id));
    }
    dropEnded();
    !unread_.empty() ? adoptAll() : void();
    dropEnded();
    tellUnread();
    strays_.look();
    isQueueChanged_ = isQueueChanged_ || (unreadNs_ != 0 && parts_.clock.steadyNs() >= unreadNs_);
    if (isQueueChanged_ && parts_.clock.steadyNs() >= queueRetryNs_) {
        startWaiting();
        dropEnded();
    }
    publishCounts();
    if (allEnded_ != nullptr && active_.empty() && strays_.isEmpty()) {
        std::exchange(allEnded_, nullptr)->set_value(true);
    }
}

// Reports it because parts of runs that cannot be read may live on other nodes.
void RunController::tellUnread() {
    bool areSome = !unread_.empty();
    std::map<std::string, int> attempts;
    for (const auto& [id, unread] : unread_) {
        attempts[id] = 0;
    }
    for (const auto& [id, run] : active_) {
        areSome = areSome || run->stage() == Stage::kUnknown;
        attempts[id] = run->attempt();
    }
    parts_.nodes.setUnread(areSome, std::move(attempts));
}

void RunController::flushLines() {
    const std::int64_t now = parts_.clock.steadyNs();
    if (intake_.isEmpty() || now < flushAtNs_) {
        return;
    }
    flushAtNs_ = now + options_.commitDelay.count() * kNsPerMs;
    const IntakeReport report = intake_.flush();
    for (const CommittedLine& line : report.committed) {
        if (ActiveRun* run = active(line.runId)) {
            run->committed(line);
        }
    }
    for (const AckOrder& order : report.acks) {
        if (ActiveRun* run = active(order.runId)) {
            run->ack(order);
        }
    }
    report.hasStored() ? parts_.live.touch() : void();
}

void RunController::recordSystem() {
    const auto report = system_.due(!active_.empty(), parts_.clock.steadyNs());
    if (!report) {
        return;
    }
    for (const auto& [id, run] : active_) {
        if (run->attempt() > 0) {
            intake_.addOwn(id, run->attempt(), systemLines(*report, id, run->position()));
        }
    }
}

void RunController::dropEnded() {
    const std::size_t numDropped = std::erase_if(active_, [this](const auto& one) {
        const bool isLeft = isDown_ && one.second->isQueued();  // for the next daemon
        const bool hasEnded = isLeft || one.second->hasEnded();
        if (hasEnded) {
            intake_.forget(one.first, one.second->attempt(), one.second->lastTimes());
        }
        return hasEnded;
    });
    isQueueChanged_ = isQueueChanged_ || numDropped > 0;
}

void RunController::publishCounts() {
    std::vector<std::string> warnings;
    for (const std::string& text : {options_.warning, intake_.trouble(), queueTrouble_}) {
        if (!text.empty()) {
            warnings.push_back(text);
        }
    }
    for (const auto& [id, unread] : unread_) {
        warnings.push_back(strCat("run ", id, ": cannot be taken over: ", unread.why));
    }
    MutexLock lock(mutex_);
    counts_ = {static_cast<int>(active_.size()), static_cast<int>(queue_.size())};
    warnings_ = std::move(warnings);
}

std::vector<std::string> RunController::warnings() const {
    MutexLock lock(mutex_);
    return warnings_;
}

RunController::Counts RunController::counts() const {
    MutexLock lock(mutex_);
    return counts_;
}

ActiveRun* RunController::active(const std::string& runId) {
    const auto found = active_.find(runId);
    return found == active_.end() ? nullptr : found->second.get();
}

// Called on the listener's thread. Only posts into the mailbox and never waits for room there,
// because this thread may be waiting for the listener's end.
RankCallbacks RunController::listenerFor(const std::string& runId) {
    RankCallbacks listener;
    listener.onHello = [this, runId](rank::ConnectionId id, const rank::Sender& sender) {
        (void)mailbox_.tryPush([this, runId, id, sender] {
            if (ActiveRun* run = active(runId)) {
                run->hello(id, sender);
            }
        });
    };
    listener.onLine = [this, runId](rank::ConnectionId id, const rank::Sender& sender,
                                    const rank::RankLine& line) {
        const auto room = LineBudget::take(mailBytes_, bytesOf(line));
        if (room == nullptr || mailbox_.size() + kReserve >= kMailbox) {
            return false;
        }
        return mailbox_.tryPush([this, runId, id, sender, line, room] {
            ActiveRun* run = active(runId);
            if (run == nullptr || !run->accepts(id)) {
                return;
            }
            intake_.addOwn(runId, run->attempt(), run->heard(sender, line));
            if (rank::isKept(line.body) && !intake_.add(id, sender, line, run->hasFile(line))) {
                run->dropConnection(id);
            }
        });
    };
    listener.onClosed = [this, runId](rank::ConnectionId id, const rank::Sender&,
                                      const std::string&) {
        (void)mailbox_.tryPush([this, runId, id] {
            if (ActiveRun* run = active(runId)) {
                run->closed(id);
            }
        });
    };
    return listener;
}

Status RunController::recover() {
    ASSIGN_OR_RETURN(const std::vector<std::string> ids, parts_.store.underWay());
    for (const std::string& id : ids) {
        unread_[id] = {};
    }
    adoptAll();
    isQueueChanged_ = true;
    dropEnded();
    return okStatus();
}

// A run that cannot be read keeps its state and is retried: its workers may be training.
void RunController::adoptAll() {
    const std::int64_t now = parts_.clock.steadyNs();
    for (auto it = unread_.begin(); it != unread_.end();) {
        Unread& unread = it->second;
        const Status status = now < unread.retryNs ? unavailable(unread.why) : adoptOne(it->first);
        if (status.ok()) {
            it = unread_.erase(it);
            continue;
        }
        if (unread.why.empty()) {
            logError("run: not taken over", {{"run", it->first}, {"why", messageOf(status)}});
        }
        if (now >= unread.retryNs) {
            const bool isEnding = absl::IsUnavailable(status);
            unread = {std::string(messageOf(status)),
                      now + (isEnding ? kEndingRetryNs : kUnreadRetryNs)};
        }
        ++it;
    }
}

Status RunController::adoptOne(const std::string& id) {
    ASSIGN_OR_RETURN(runs::RunRecord run, parts_.store.get(id));
    const Result<SharedSpec> spec = readSpec(run.resolvedSpec);
    if (!spec.ok()) {
        RETURN_IF_ERROR(strays_.end(gangKey(run.id, run.attempt), spec.status()));
        return refuse(run.id, std::string(messageOf(spec.status())));
    }
    run.specText.clear();
    auto active = std::make_unique<ActiveRun>(place_, std::move(run), *spec);
    ActiveRun& adopted = *active;
    active_[id] = std::move(active);
    adopted.adopt();
    logInfo("run: adopted", {{"run", id}, {"attempt", adopted.attempt()}});
    return okStatus();
}

template <class T>
T RunController::ask(std::function<T()> question) {
    auto promise = std::make_shared<std::promise<T>>();
    std::future<T> answer = promise->get_future();
    const bool isTaken = mailbox_.push([promise, question] { promise->set_value(question()); });
    if (!isTaken) {
        return unavailable("the daemon is ending");
    }
    if (!thread_.joinable()) {
        drain();
    }
    // A closed mailbox drops what is queued: the promise is then broken, not forgotten.
    try {
        return answer.get();
    } catch (const std::future_error&) {
        return unavailable("the daemon is ending");
    }
}

void RunController::queueChanged(std::map<std::string, SharedSpec> specs) {
    (void)mailbox_.push([this, specs = std::move(specs)]() mutable {
        specs_.merge(specs);
        isQueueChanged_ = true;
        parts_.live.touch();
    });
}

void RunController::post(const std::string& key, const engines::State& state) {
    (void)mailbox_.push([this, key, state] {
        strays_.note(key, state);
        for (auto& [id, run] : active_) {
            run->key() == key ? run->lookAtGang() : void();
        }
    });
}

Status RunController::stop(const std::string& runId, const std::string& reason,
                           std::chrono::milliseconds grace) {
    return ask<Status>([=, this] { return stopNow(runId, reason, grace); });
}

Status RunController::stopNow(const std::string& runId, const std::string& reason,
                              std::chrono::milliseconds grace) {
    if (ActiveRun* run = active(runId)) {
        run->requestStop(reason, grace);
        return okStatus();
    }
    if (const auto unread = unread_.find(runId); unread != unread_.end()) {
        return failedPrecondition("run ", runId, " cannot be taken over, so it cannot be stopped: ",
                                  unread->second.why, "; `millrace down` ends its workers");
    }
    ASSIGN_OR_RETURN(const runs::RunRecord run, parts_.store.get(runId));
    if (run.state != values::RunState::kQueued) {
        return failedPrecondition("run ", runId, " is ", values::nameOf(run.state), " already");
    }
    RETURN_IF_ERROR(parts_.store.setState(runId, {values::RunState::kCancelled, reason, 0}));
    isQueueChanged_ = true;
    parts_.live.erase(runId);
    return okStatus();
}

Status RunController::resume(const std::string& runId, std::int64_t fromStep,
                             const runs::MaybeSpecChange& change) {
    return ask<Status>([=, this]() -> Status {
        ASSIGN_OR_RETURN(const runs::RunRecord run, parts_.store.get(runId));
        RETURN_IF_ERROR(checkpoints_.checkResume(run, fromStep));
        RETURN_IF_ERROR(parts_.store.requeue(runId, fromStep, change));
        specs_.erase(runId);
        isQueueChanged_ = true;
        parts_.live.touch();
        return okStatus();
    });
}

Result<values::DownReport> RunController::down(std::chrono::milliseconds grace) {
    auto ended = std::make_shared<std::promise<bool>>();
    std::future<bool> allEnded = ended->get_future();
    auto report = std::make_shared<values::DownReport>();
    isGoingDown_ = true;
    const Status asked = ask<Status>([=, this] {
        isDown_ = true;
        dropEnded();
        startWaiting();  // reads the queue
        report->runsStopped = static_cast<int>(active_.size());
        report->runsQueued = static_cast<int>(queue_.size());
        for (auto& [id, run] : active_) {
            report->workersEnded += static_cast<int>(parts_.live.get(id).workers.size());
            run->requestStop(kDownReason, grace);
        }
        report->workersEnded += strays_.endAll(grace);
        for (const auto& [id, unread] : unread_) {
            // The next daemon that can read the run takes it over as one that is being stopped.
            (void)parts_.store.setState(id, {values::RunState::kStopping, kDownReason, 0});
        }
        allEnded_ = ended;
        return okStatus();
    });
    bool isGivenUp = false;
    if (asked.ok() && thread_.joinable()) {
        const bool isKnown = allEnded.wait_for(grace + kDownExtra) == std::future_status::ready;
        isGivenUp = isKnown && !allEnded.get();
        report->runsLeft = isKnown ? 0 : counts().running;
    }
    isGoingDown_ = false;
    RETURN_IF_ERROR(asked);
    return isGivenUp
               ? Result<values::DownReport>(unavailable(
                     "the daemon had to end before all runs had; they go on stopping, and the "
                     "next daemon takes them over"))
               : *report;
}

void RunController::giveUpDown() {
    (void)mailbox_.push([this] {
        if (allEnded_ != nullptr) {
            std::exchange(allEnded_, nullptr)->set_value(false);
        }
    });
}

}  // namespace millrace::agent

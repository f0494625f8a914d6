#include "daemon/agent/active_run.h"

#include <algorithm>
#include <utility>

#include "backend/core/files.h"
#include "backend/core/log.h"
#include "daemon/agent/log_reader.h"

namespace millrace::agent {
namespace {

// After the gang's end: how long to wait for what its sockets still hold.
constexpr std::int64_t kDrainNs = 2'000 * kNsPerMs;
// After the ranks' end: how long the feed may take to notice.
constexpr std::int64_t kLingerNs = 5'000 * kNsPerMs;
constexpr std::int64_t kRetryNs = 1'000 * kNsPerMs;
constexpr std::chrono::milliseconds kForcedGrace{2'000};
// Versions that a worker may tell.
constexpr std::size_t kMostPackages = 50, kMostPackageBytes = 200;

// OK without one, too: when nothing was committed.
Status storeReceipt(runs::RunStore& store, const std::string& id, ReceiptInputs inputs) {
    if (inputs.states.empty()) {
        ASSIGN_OR_RETURN(const auto checkpoints, store.checkpoints(id));
        if (checkpoints.empty()) {
            return okStatus();
        }
        inputs.states.push_back(checkpoints.front().cursor);
    }
    ASSIGN_OR_RETURN(inputs.plan, store.document(id, runs::LargeDocument::kPlan));
    ASSIGN_OR_RETURN(const std::string receipt, makeReceipt(inputs));
    return store.setReceipt(id, receipt);
}

}  // namespace

ActiveRun::ActiveRun(Workplace& place, runs::RunRecord run, JobFacts facts,
                     schedule::Resources needs)
    : place_(place),
      run_(std::move(run)),
      facts_(std::move(facts)),
      needs_(needs),
      directory_(place.runsDir, run_.id),
      done_(Json::object()),
      health_(place.clock) {
    live_.epochs = facts_.epochs;
}

void ActiveRun::hello(rank::ConnectionId connection, const rank::Sender& sender) {
    connections_[connection] = sender;
    health_.hello(sender);
    if (sender.role != "rank") {
        return;
    }
    if (stop_.has_value() && door_ != nullptr) {
        door_->stop(connection);
        return;
    }
    if (sender.rank == 0 && run_.state == runs::RunState::kStarting) {
        setState(runs::RunState::kRunning);
        publish();
    }
}

void ActiveRun::closed(rank::ConnectionId connection) {
    connections_.erase(connection);
    dropped_.erase(connection);
}

void ActiveRun::dropConnection(rank::ConnectionId connection) {
    dropped_.insert(connection);
    if (door_ != nullptr) {
        door_->close(connection);
    }
}

void ActiveRun::heard(const rank::Sender& sender, const rank::RankLine& line) {
    health_.heard(sender, line);
    const auto* progress = std::get_if<rank::Progress>(&line.body);
    if (progress == nullptr || sender.role != "rank" || sender.rank != 0 ||
        line.attempt != run_.attempt) {
        return;
    }
    lastStep_ = std::max(lastStep_, progress->step);
    lastEpoch_ = progress->epoch;
    lastRows_ = progress->rows;
    live_.busyMs = progress->busyMs;
    live_.stallMs = progress->stallMs;
    live_.progressMs = place_.clock.wallMs();
}

void ActiveRun::committed(const CommittedLine& line) {
    if (line.attempt != run_.attempt) {
        return;  // an older attempt's: stored, and that is all
    }
    noticeBegin(line);
    if (const auto* metrics = std::get_if<rank::Metrics>(&line.line.body)) {
        lastStep_ = std::max(lastStep_, metrics->step);
    } else if (const auto* error = std::get_if<rank::ErrorLine>(&line.line.body)) {
        errors_[line.worker] = error->message;
        addEvent(strCat(line.worker, ": ", error->message));
    } else if (const auto* checkpoint = std::get_if<rank::Checkpoint>(&line.line.body)) {
        lastStep_ = std::max(lastStep_, checkpoint->step);
        keepCheckpoints();
    } else if (const auto* done = std::get_if<rank::Done>(&line.line.body)) {
        sayDone(line, *done);
    } else if (const auto* receipt = std::get_if<rank::ReceiptLine>(&line.line.body)) {
        notePackages(jsonMember(receipt->receipt, "packages"));
    }
}

void ActiveRun::notePackages(const Json& packages) {
    std::map<std::string, std::string> versions;
    for (const auto& [name, version] : packages.items()) {
        const bool isShort = name.size() <= kMostPackageBytes && version.is_string() &&
                             version.get_ref<const std::string&>().size() <= kMostPackageBytes;
        if (isShort && versions.size() < kMostPackages) {
            versions[name] = version.get<std::string>();
        }
    }
    const Status status =
        versions.empty() ? okStatus() : place_.store.addPackages(run_.id, versions);
    if (!status.ok()) {
        logWarn("run: packages not stored", {{"run", run_.id}, {"why", messageOf(status)}});
    }
}

void ActiveRun::sayDone(const CommittedLine& line, const rank::Done& done) {
    Json params = Json::object();
    for (const auto& [key, value] : done.params) {
        params[key] = value;
    }
    lastStep_ = std::max(lastStep_, done.step);
    done_[line.worker] = {
        {"step", done.step}, {"rows", done.rows}, {"state", done.state}, {"params", params}};
    writeDone();
}

// A worker whose `done` is acknowledged ends and never says it again: the word is on disk first.
void ActiveRun::writeDone() {
    const bool isFirst = doneRetryNs_ == 0;
    const Status status = directory_.writeDone(run_.attempt, done_);
    if (!status.ok()) {
        doneRetryNs_ = place_.clock.steadyNs() + kRetryNs;
        if (isFirst) {
            logWarn("run: done not written", {{"run", run_.id}, {"why", messageOf(status)}});
        }
        return;
    }
    doneRetryNs_ = 0;
    for (const auto& [key, order] : std::exchange(heldAcks_, {})) {
        ack(order);
    }
}

runs::ReportedLine ActiveRun::position() const {
    runs::ReportedLine line;
    line.step = lastStep_;
    line.epoch = lastEpoch_;
    line.rows = lastRows_;
    return line;
}

void ActiveRun::ack(const AckOrder& order) {
    if (doneRetryNs_ != 0) {
        heldAcks_[{order.connection, order.attempt}] = order;
        return;
    }
    if (door_ != nullptr && order.doorAttempt == run_.attempt) {
        door_->ack(order.connection, order.attempt, order.seq);
    }
}

// The store has cut what the attempt replaces with the same lines.
void ActiveRun::noticeBegin(const CommittedLine& line) {
    const auto* progress = std::get_if<rank::Progress>(&line.line.body);
    const bool isWork = std::holds_alternative<rank::Metrics>(line.line.body) ||
                        std::holds_alternative<rank::Checkpoint>(line.line.body) ||
                        (progress != nullptr && progress->step > resumeStep_);
    if (hasBegun_ || !isWork || line.worker == "feed") {
        return;
    }
    hasBegun_ = true;
    if (run_.attempt == 1) {
        return;
    }
    (void)place_.side.run([&place = place_, id = run_.id](const auto&) -> SideThread::Then {
        const std::vector<std::string> events = place.checkpoints.setVoidAside(id);
        return [&place, id, events] {
            for (const std::string& event : events) {
                RunDirectory(place.runsDir, id).addEvent({place.clock.wallMs(), event});
            }
        };
    });
}

// One look at a time: what comes meanwhile is seen by the next.
void ActiveRun::keepCheckpoints() {
    if (isRetaining_ || facts_.checkpointKeep <= 0) {
        isRetainDue_ = isRetaining_;
        return;
    }
    isRetainDue_ = false;
    isRetaining_ = true;
    const auto retain = [&place = place_, id = run_.id,
                         keep = facts_.checkpointKeep](const auto&) -> SideThread::Then {
        const Status status = place.checkpoints.retain(id, keep);
        return [&place, id, status] {
            if (ActiveRun* run = place.find(id)) {
                run->retained(status);
            }
        };
    };
    if (!place_.side.run(retain)) {
        isRetaining_ = false;  // the next checkpoint comes by here
    }
}

void ActiveRun::retained(const Status& status) {
    isRetaining_ = false;
    if (!status.ok()) {
        logWarn("run: old checkpoints stay", {{"run", run_.id}, {"why", messageOf(status)}});
    }
    if (isRetainDue_) {
        keepCheckpoints();
    }
}

void ActiveRun::engineSays(const engines::State& state) {
    state_ = state;
    health_.setWorkers(state);
    live_.workers = liveWorkers();
    const std::int64_t now = place_.clock.steadyNs();
    const bool isOver =
        state.phase == engines::Phase::kEnded || state.phase == engines::Phase::kMissing;
    if (isOver && endSeenNs_ == 0) {
        endSeenNs_ = now;
    }
    if (!isOver && ranksGoneNs_ == 0 && !state.workers.empty() && !isRankAlive()) {
        ranksGoneNs_ = now;
    }
    publish();
}

bool ActiveRun::isRankAlive() const {
    return std::any_of(
        state_->workers.begin(), state_->workers.end(),
        [](const engines::WorkerState& w) { return w.rank >= 0 && !w.exitCode.has_value(); });
}

void ActiveRun::requestStop(const std::string& reason, std::chrono::milliseconds grace) {
    if (ending_.has_value()) {
        return;
    }
    const std::int64_t deadline = place_.clock.steadyNs() + grace.count() * kNsPerMs;
    if (stop_.has_value() && stop_->deadlineNs <= deadline) {
        return;
    }
    // The next daemon, should this one end meanwhile, gives no less and no more.
    (void)directory_.writeStop(run_.attempt, place_.clock.wallMs() + grace.count());
    if (stop_.has_value()) {
        stop_->deadlineNs = deadline;
        return;
    }
    stop_ = StopWish{reason, deadline};
    if (run_.state != runs::RunState::kStopping) {
        setState(runs::RunState::kStopping, reason);
        addEvent(strCat("asked to stop: ", reason));
    }
    for (const auto& [connection, sender] : connections_) {
        if (sender.role == "rank" && door_ != nullptr) {
            door_->stop(connection);
        }
    }
    if (start_.has_value()) {
        start_->stop.request_stop();
    }
    publish();
}

// Ends a gang whose time for a checkpoint is up, and a feed that outlives its ranks.
void ActiveRun::endLingering() {
    const std::int64_t now = place_.clock.steadyNs();
    if (stop_.has_value() && !stop_->isCancelled && now >= stop_->deadlineNs) {
        stop_->isCancelled = true;
        addEvent("no checkpoint within the grace: ended");
        (void)place_.engine.cancel(job_, kForcedGrace);
        place_.pokeEngine();
    }
    if (ranksGoneNs_ != 0 && !isLingerCancelled_ && now - ranksGoneNs_ >= kLingerNs) {
        isLingerCancelled_ = true;
        (void)place_.engine.cancel(job_, kForcedGrace);
        place_.pokeEngine();
    }
}

void ActiveRun::tick(bool isFlushed) {
    if (hasEnded_) {
        return;
    }
    if (ending_.has_value()) {
        return followEnd();
    }
    if (start_.has_value()) {
        return followSurvey();
    }
    if (placeNs_ != 0) {
        return followPlacing();
    }
    lookAtHealth();
    publish();
    if (doneRetryNs_ != 0 && place_.clock.steadyNs() >= doneRetryNs_) {
        writeDone();
    }
    if (isUnknown_) {
        return askAgain();
    }
    if (endSeenNs_ == 0) {
        endLingering();
        return;
    }
    const bool isDrained = connections_.empty() || place_.clock.steadyNs() - endSeenNs_ >= kDrainNs;
    if (isDrained && isFlushed) {
        conclude();
    }
}

void ActiveRun::lookAtHealth() {
    for (const std::string& news : health_.look()) {
        addEvent(news);
        logWarn("run: health", {{"run", run_.id}, {"attempt", run_.attempt}, {"what", news}});
    }
    live_.trouble = health_.trouble();
    live_.standsSinceMs = health_.standsSinceMs();
    live_.workers = liveWorkers();
}

std::vector<LiveWorker> ActiveRun::liveWorkers() const {
    std::vector<LiveWorker> workers;
    for (std::size_t i = 0; state_.has_value() && i < state_->workers.size(); ++i) {
        const engines::WorkerState& worker = state_->workers[i];
        const std::string_view standing = health_.standingOf(worker.name);
        const std::string_view word = worker.exitCode.has_value() ? "ended"
                                      : !standing.empty()         ? standing
                                      : worker.isSilent           ? "unguarded"
                                      : worker.isStarted          ? "running"
                                                                  : "starting";
        workers.push_back({worker.name, std::string(word), static_cast<int>(worker.pid),
                           worker.exitCode.value_or(0), run_.attempt});
    }
    return workers;
}

AttemptFacts ActiveRun::facts() const {
    AttemptFacts facts;
    facts.attempt = run_.attempt;
    facts.hasSaidDone = done_.contains("rank0");
    facts.isDoneKept = isDoneKept();
    facts.isStopRequested = stop_.has_value();
    facts.stopReason = stop_.has_value() ? stop_->reason : "";
    facts.resumeStep = resumeStep_;
    facts.lastStep = lastStep_;
    facts.idleAttempts = idleAttempts_;
    facts.restarts = restarts_;
    facts.maxRestarts = facts_.maxRestarts;
    facts.errors = errors_;
    for (const engines::WorkerState& worker : state_->workers) {
        facts.lastWords[worker.name] = lastLogLine(worker.directory);
    }
    return facts;
}

bool ActiveRun::isDoneKept() const {
    const auto checkpoints = place_.store.checkpoints(run_.id);
    return done_.contains("rank0") && checkpoints.ok() && !checkpoints->empty() &&
           checkpoints->front().step >= jsonInt(done_["rank0"], "step", INT64_MAX);
}

void ActiveRun::conclude() {
    if (std::exchange(isHalfStarted_, false) && !stop_.has_value()) {
        return launch(fromStep_);
    }
    const AttemptFacts facts = this->facts();
    const Verdict verdict = judge(facts, *state_);
    switch (verdict.kind) {
        case Verdict::Kind::kFinished:
            return end(runs::RunState::kFinished, "");
        case Verdict::Kind::kCancelled:
            return end(runs::RunState::kCancelled, verdict.reason);
        case Verdict::Kind::kFailed:
            return end(runs::RunState::kFailed, verdict.reason);
        case Verdict::Kind::kRestart:
            break;
    }
    addEvent(strCat("attempt ", run_.attempt, " failed: ", verdict.reason));
    logWarn("run: restarts",
            {{"run", run_.id}, {"attempt", run_.attempt}, {"why", verdict.reason}});
    ++restarts_;
    idleAttempts_ = facts.lastStep > facts.resumeStep ? 0 : idleAttempts_ + 1;
    // What was asked for holds until an attempt has begun.
    launch(hasBegun_ ? runs::kFromLast : fromStep_, true);
}

void ActiveRun::end(runs::RunState state, const std::string& reason) {
    ending_ = Ending{state, reason};
    askReceipt();
}

void ActiveRun::followEnd() {
    if (!ending_->isAsked) {
        askReceipt();
    } else if (ending_->retryNs != 0 && place_.clock.steadyNs() >= ending_->retryNs) {
        storeEnd();
    }
}

// The receipt is there, or cannot be had.
void ActiveRun::storeEnd() {
    if (!ending_.has_value() || hasEnded_) {
        return;
    }
    const auto [state, reason] = std::pair(ending_->state, ending_->reason);
    if (!setState(state, reason)) {
        // The end must not be lost with a full disk: tick() tries again.
        ending_->retryNs = place_.clock.steadyNs() + kRetryNs;
        return;
    }
    addEvent(reason.empty() ? std::string(runs::textOf(state))
                            : strCat(runs::textOf(state), ": ", reason));
    logInfo("run: ended", {{"run", run_.id},
                           {"state", runs::textOf(state)},
                           {"attempt", run_.attempt},
                           {"reason", reason}});
    door_.reset();
    connections_.clear();
    hasEnded_ = true;
    place_.live.erase(run_.id);
}

// Of very many files a receipt is many megabytes: it is made and stored beside the agent's thread.
void ActiveRun::askReceipt() {
    const auto store = [&place = place_, id = run_.id,
                        inputs = receiptInputs()](const auto&) -> SideThread::Then {
        const Status status = storeReceipt(place.store, id, inputs);
        if (!status.ok()) {
            logWarn("run: no receipt", {{"run", id}, {"why", messageOf(status)}});
        }
        return [&place, id] {
            if (ActiveRun* run = place.find(id)) {
                run->storeEnd();
            }
        };
    };
    ending_->isAsked = true;
    const bool isTaken = place_.documents.run(store);
    if (ending_.has_value()) {
        ending_->isAsked = isTaken;
    }
}

ReceiptInputs ActiveRun::receiptInputs() const {
    ReceiptInputs inputs;
    inputs.stepNames = facts_.stepNames;
    for (int rank = 0; rank < facts_.ranks; ++rank) {
        const Json& said = jsonMember(done_, strCat("rank", rank));
        if (said.is_object()) {
            inputs.states.push_back(jsonString(said, "state"));
            inputs.rowsTrained = std::max(inputs.rowsTrained, jsonInt(said, "rows", -1));
        }
    }
    const Json& params = jsonMember(jsonMember(done_, "rank0"), "params");
    inputs.evalOrderHash = jsonString(params, "eval_order_hash");
    inputs.weightsHash = jsonString(params, "weights_hash");
    return inputs;
}

bool ActiveRun::setState(runs::RunState state, const std::string& reason) {
    run_.state = state;
    const Status status = place_.store.setState(run_.id, {state, reason, run_.attempt});
    if (!status.ok()) {
        logError("run: state not stored",
                 {{"run", run_.id}, {"state", runs::textOf(state)}, {"why", messageOf(status)}});
    }
    place_.live.touch();
    return status.ok();
}

void ActiveRun::publish() {
    place_.live.set(run_.id, live_);
}

void ActiveRun::addEvent(const std::string& text) {
    directory_.addEvent({place_.clock.wallMs(), text});
}

}  // namespace millrace::agent

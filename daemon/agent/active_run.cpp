#include "daemon/agent/active_run.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "backend/core/files.h"
#include "backend/core/log.h"
#include "daemon/agent/log_reader.h"
#include "daemon/agent/receipts.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
// After the gang's end: how long to wait for what its sockets still hold.
constexpr std::int64_t kDrainNs = 2'000 * kNsPerMs;
// After the ranks' end: how long the feed may take to notice.
constexpr std::int64_t kLingerNs = 5'000 * kNsPerMs;
constexpr std::int64_t kRetryNs = 1'000 * kNsPerMs;
constexpr std::chrono::milliseconds kForcedGrace{2'000};
// Versions that a worker may tell.
constexpr std::size_t kMostPackages = 50, kMostPackageBytes = 200;

bool isReadable(const std::string& path) {
    return ::access(path.c_str(), R_OK) == 0;
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

void ActiveRun::launch(std::int64_t fromStep, bool isRestart) {
    Status status = prepareAttempt(fromStep, isRestart);
    if (status.ok()) {
        status = place();
    }
    if (!status.ok()) {
        end(runs::RunState::kFailed, strCat("could not be started: ", messageOf(status)));
    }
}

// Writes first: the store knows of the attempt before anything of it exists.
Status ActiveRun::prepareAttempt(std::int64_t fromStep, bool isRestart) {
    const int attempt = run_.attempt + 1;
    ASSIGN_OR_RETURN(const auto checkpoint, findCheckpoint(fromStep));
    JobInputs inputs;
    if (checkpoint.has_value()) {
        inputs.resumePath = checkpoint->path;
    } else {
        ASSIGN_OR_RETURN(inputs.initFromPath, findInitFrom());
    }
    resumeStep_ = checkpoint.has_value() ? checkpoint->step : 0;
    lastStep_ = resumeStep_;
    RETURN_IF_ERROR(directory_.prepare(attempt));
    ASSIGN_OR_RETURN(const runs::RunRecord full, place_.store.get(run_.id));
    Json job = makeJob(full, attempt, directory_, inputs);
    job["resume_step"] = resumeStep_;
    job["restarts"] = restarts_;
    job["idle_attempts"] = idleAttempts_;
    RETURN_IF_ERROR(directory_.writeJob(attempt, job));
    RETURN_IF_ERROR(place_.store.beginAttempt(run_.id, attempt, resumeStep_, isRestart));
    run_.attempt = attempt;
    dropCheckpointsAfter(resumeStep_);
    errors_.clear();
    done_ = Json::object();
    doneRetryNs_ = 0;
    heldAcks_.clear();
    state_.reset();
    endSeenNs_ = ranksGoneNs_ = 0;
    isLingerCancelled_ = false;
    health_.restart();
    setState(runs::RunState::kStarting);
    addEvent(checkpoint.has_value() ? strCat("attempt ", attempt, " starts from step ", resumeStep_)
                                    : strCat("attempt ", attempt, " starts"));
    return okStatus();
}

Status ActiveRun::place() {
    RETURN_IF_ERROR(openDoor());
    live_.attempt = run_.attempt;
    live_.resumeStep = resumeStep_;
    live_.queuedReason.clear();
    publish();
    ASSIGN_OR_RETURN(job_, place_.engine.submit(makeGang(run_, run_.attempt, facts_, directory_,
                                                         place_.binDir, needs_)));
    place_.pokeEngine();
    logInfo("run: started", {{"run", run_.id}, {"attempt", run_.attempt}, {"from", resumeStep_}});
    return okStatus();
}

Status ActiveRun::openDoor() {
    connections_.clear();
    dropped_.clear();
    door_.reset();
    ASSIGN_OR_RETURN(door_, place_.doors.open(directory_.rankSocketPath(run_.attempt), run_.id,
                                              run_.attempt, place_.listener(run_.id)));
    return okStatus();
}

void ActiveRun::readAttemptFile() {
    const Result<std::string> text = readFile(directory_.jobPath(run_.attempt));
    const Result<Json> job = text.ok() ? parseJson(*text, "job.json") : Result<Json>(text.status());
    if (job.ok()) {
        resumeStep_ = jsonInt(*job, "resume_step");
        restarts_ = jsonInt(*job, "restarts");
        idleAttempts_ = static_cast<int>(jsonInt(*job, "idle_attempts"));
    }
    lastStep_ = std::max(run_.step, resumeStep_);
    const Json done = directory_.readDone(run_.attempt);
    done_ = done.is_object() ? done : Json::object();
}

void ActiveRun::adopt() {
    readAttemptFile();
    live_.attempt = run_.attempt;
    live_.resumeStep = resumeStep_;
    if (run_.state == runs::RunState::kStopping) {
        requestStop(run_.exitReason, std::chrono::seconds(15));
    }
    const auto found = place_.engine.find(gangKey(run_.id, run_.attempt));
    if (found.ok() && found->has_value()) {
        job_ = **found;
        const Status status = openDoor();
        if (!status.ok()) {
            logError("run: its socket cannot be opened",
                     {{"run", run_.id}, {"why", messageOf(status)}});
        }
        if (run_.state == runs::RunState::kStarting) {
            // A daemon that ended in the middle of a start may have left workers out.
            (void)place_.engine.submit(
                makeGang(run_, run_.attempt, facts_, directory_, place_.binDir, needs_));
        }
        const Result<engines::State> state = place_.engine.state(job_);
        if (state.ok()) {
            engineSays(*state);
        }
        addEvent(strCat("attempt ", run_.attempt, " adopted by a new daemon"));
        publish();
        return;
    }
    // It was stored, but the engine never got it.
    if (stop_.has_value()) {
        end(runs::RunState::kCancelled, stop_->reason);
        return;
    }
    const Status status = place();
    if (!status.ok()) {
        end(runs::RunState::kFailed, strCat("could not be started: ", messageOf(status)));
    }
}

Result<std::optional<runs::CheckpointRecord>> ActiveRun::findCheckpoint(
    std::int64_t fromStep) const {
    ASSIGN_OR_RETURN(const auto checkpoints, place_.store.checkpoints(run_.id));
    for (const runs::CheckpointRecord& checkpoint : checkpoints) {
        const bool isWanted = fromStep == 0 || checkpoint.step == fromStep;
        if (isWanted && isReadable(checkpoint.path)) {
            return std::optional(checkpoint);
        }
    }
    if (fromStep > 0) {
        return notFound("run ", run_.id, " has no checkpoint of step ", fromStep);
    }
    return std::optional<runs::CheckpointRecord>();
}

Result<std::string> ActiveRun::findInitFrom() const {
    if (facts_.initFrom.empty()) {
        return std::string();
    }
    const Result<std::string> id = place_.store.findId(facts_.initFrom);
    if (!id.ok()) {
        return annotate(id.status(), "train.init_from");
    }
    ASSIGN_OR_RETURN(const auto checkpoints, place_.store.checkpoints(*id));
    for (const runs::CheckpointRecord& checkpoint : checkpoints) {
        if (isReadable(checkpoint.path)) {
            return checkpoint.path;
        }
    }
    return failedPrecondition("train.init_from: run ", *id, " has no checkpoint");
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

runs::MetricLine ActiveRun::position() const {
    runs::MetricLine line;
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

void ActiveRun::keepCheckpoints() {
    const auto checkpoints = place_.store.checkpoints(run_.id);
    if (!checkpoints.ok() || facts_.checkpointKeep <= 0) {
        return;
    }
    for (auto i = static_cast<std::size_t>(facts_.checkpointKeep); i < checkpoints->size(); ++i) {
        dropCheckpoint((*checkpoints)[i]);
    }
}

// They belong to a course that the run no longer takes: no attempt may go on from them, and the
// retention rule must not count them.
void ActiveRun::dropCheckpointsAfter(std::int64_t step) {
    const auto checkpoints = place_.store.checkpoints(run_.id);
    for (std::size_t i = 0; checkpoints.ok() && i < checkpoints->size(); ++i) {
        if ((*checkpoints)[i].step > step) {
            dropCheckpoint((*checkpoints)[i]);
        }
    }
}

void ActiveRun::dropCheckpoint(const runs::CheckpointRecord& checkpoint) {
    if (::unlink(checkpoint.path.c_str()) == 0 || errno == ENOENT) {
        (void)place_.store.markCheckpointDeleted(run_.id, checkpoint.step);
    }
}

// A worker whose guardian is stopped looks alive otherwise.
void ActiveRun::noteSilence(const engines::State& before, const engines::State& now) {
    for (std::size_t i = 0; i < now.workers.size(); ++i) {
        const engines::WorkerState& worker = now.workers[i];
        const bool wasSilent = i < before.workers.size() && before.workers[i].isSilent;
        if (worker.isSilent && !wasSilent) {
            addEvent(worker.name +
                     " does not answer: its guardian is stopped, or the machine is overloaded");
        } else if (wasSilent && !worker.isSilent && !worker.exitCode.has_value()) {
            addEvent(worker.name + " answers again");
        }
    }
}

void ActiveRun::engineSays(const engines::State& state) {
    noteSilence(state_.value_or(engines::State{}), state);
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
    const std::int64_t deadline = place_.clock.steadyNs() + grace.count() * kNsPerMs;
    if (stop_.has_value()) {
        stop_->deadlineNs = std::min(stop_->deadlineNs, deadline);
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
    if (unstoredEnd_.has_value()) {
        if (place_.clock.steadyNs() >= unstoredEnd_->retryNs) {
            const UnstoredEnd ending = *unstoredEnd_;
            end(ending.state, ending.reason);
        }
        return;
    }
    lookAtHealth();
    publish();
    if (doneRetryNs_ != 0 && place_.clock.steadyNs() >= doneRetryNs_) {
        writeDone();
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

void ActiveRun::conclude() {
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
    launch(0, true);
}

void ActiveRun::end(runs::RunState state, const std::string& reason) {
    storeReceipt();
    if (!setState(state, reason)) {
        // The end must not be lost with a full disk: tick() tries again.
        unstoredEnd_ = UnstoredEnd{state, reason, place_.clock.steadyNs() + kRetryNs};
        return;
    }
    unstoredEnd_.reset();
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

void ActiveRun::storeReceipt() {
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
    const Result<runs::RunRecord> full = place_.store.get(run_.id);
    if (!full.ok()) {
        return;
    }
    inputs.plan = full->plan;
    if (inputs.states.empty()) {
        const auto checkpoints = place_.store.checkpoints(run_.id);
        if (!checkpoints.ok() || checkpoints->empty()) {
            return;
        }
        inputs.states.push_back(checkpoints->front().cursor);
    }
    const Result<std::string> receipt = makeReceipt(inputs);
    const Status status =
        receipt.ok() ? place_.store.setReceipt(run_.id, *receipt) : receipt.status();
    if (!status.ok()) {
        logWarn("run: no receipt", {{"run", run_.id}, {"why", messageOf(status)}});
    }
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

// ActiveRun, the part that brings an attempt on its way: the survey of its checkpoints, its job and
// gang; or the gang that an earlier daemon left.
#include <algorithm>
#include <utility>

#include <unistd.h>

#include "backend/core/files.h"
#include "backend/core/log.h"
#include "backend/core/text.h"
#include "backend/core/transient.h"
#include "daemon/agent/active_run.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kAskAgainNs = 1'000 * kNsPerMs;
constexpr std::int64_t kStartAgainNs = 1'000 * kNsPerMs, kMostStartAgainNs = 30 * kStartAgainNs;
// Longer than the guardians' lease of 10 minutes: workers that nobody could ask for have ended.
constexpr std::int64_t kLostNs = 11 * 60 * 1'000 * kNsPerMs;
constexpr std::chrono::milliseconds kForcedGrace{2'000};
// For workers that an earlier daemon asked to stop, whatever it had given them.
constexpr std::chrono::milliseconds kGraceLeast{15'000}, kGraceMost{3'600'000};

Status writeJob(const runs::RunStore& store, const std::string& id, const RunDirectory& directory,
                int attempt, const Json& job) {
    RETURN_IF_ERROR(directory.prepare(attempt));
    ASSIGN_OR_RETURN(const std::string plan, store.document(id, runs::LargeDocument::kPlan));
    RETURN_IF_ERROR(directory.writeJob(attempt, jobText(job, plan)));
    Json facts;
    for (const char* name : {"resume_step", "from_step", "restarts", "idle_attempts"}) {
        facts[name] = jsonInt(job, name);
    }
    return directory.writeAttempt(attempt, facts);
}

}  // namespace

void ActiveRun::launch(std::int64_t fromStep, bool isRestart) {
    start_.emplace();
    start_->number = ++numStarts_;
    start_->fromStep = fromStep;
    start_->isRestart = isRestart;
    if (run_.attempt == 0) {
        return surveyed(start_->number, Survey{});  // nothing of it can be there yet
    }
    askSurvey();
}

// Reads files whole: minutes, where checkpoints are large.
void ActiveRun::askSurvey() {
    const std::uint64_t number = start_->number;
    SurveyOrder order{run_.id, run_.streamHash, start_->fromStep, facts_.checkpointKeep};
    const auto look = [&place = place_, order = std::move(order), number,
                       stop = start_->stop.get_token(),
                       bytesRead = start_->bytesRead](const auto& isEnding) -> SideThread::Then {
        const checkpoint::ReadWatch watch{[&] { return stop.stop_requested() || isEnding(); },
                                          [&](std::uint64_t bytes) { *bytesRead += bytes; }};
        const Survey survey = place.checkpoints.survey(order, watch);
        return [&place, id = order.runId, number, survey] {
            if (ActiveRun* run = place.find(id)) {
                run->surveyed(number, survey);
            }
        };
    };
    const bool isAsked = place_.side.run(look);
    // It may be answered already.
    if (start_.has_value() && start_->number == number) {
        start_->isAsked = isAsked;
    }
}

void ActiveRun::followSurvey() {
    if (start_->retryNs != 0) {
        if (stop_.has_value()) {
            start_.reset();
            return end(runs::RunState::kCancelled, stop_->reason);
        }
        if (place_.clock.steadyNs() < start_->retryNs) {
            return;
        }
        start_->retryNs = 0;
        start_->isAsked = false;
    }
    if (!start_->isAsked) {
        return start_->survey.has_value() ? askJob() : askSurvey();
    }
    const std::uint64_t bytes = start_->bytesRead->load();
    live_.queuedReason =
        start_->survey.has_value() ? "its job is being written"
        : bytes == 0
            ? "reads its checkpoints"
            : strCat("reads its checkpoints: ", formatBytes(static_cast<double>(bytes)), " so far");
    publish();
}

void ActiveRun::surveyed(std::uint64_t number, const Survey& survey) {
    if (!start_.has_value() || start_->number != number) {
        return;
    }
    for (const std::string& event : survey.events) {
        addEvent(event);
    }
    if (stop_.has_value()) {
        start_.reset();
        return end(runs::RunState::kCancelled, stop_->reason);
    }
    if (!survey.status.ok()) {
        return failStart(survey.status);
    }
    start_->survey = survey;
    askJob();
}

void ActiveRun::failStart(const Status& status) {
    if (!isTransient(status)) {
        start_.reset();
        return end(runs::RunState::kFailed, strCat("could not be started: ", messageOf(status)));
    }
    (start_.has_value() ? start_->retryNs : placeNs_) = tryLater(status);
}

// When: steady, ns.
std::int64_t ActiveRun::tryLater(const Status& status) {
    live_.queuedReason = strCat("cannot be started now: ", messageOf(status), "; trying again");
    if (startBackoffNs_ == 0) {
        addEvent(live_.queuedReason);
        logWarn("run: not started yet", {{"run", run_.id}, {"why", messageOf(status)}});
    }
    publish();
    startBackoffNs_ = std::clamp(2 * startBackoffNs_, kStartAgainNs, kMostStartAgainNs);
    return place_.clock.steadyNs() + startBackoffNs_;
}

// All of the next attempt's job.json but the plan.
Result<Json> ActiveRun::nextJob() const {
    const Survey& survey = *start_->survey;
    JobInputs inputs;
    if (survey.chosen.has_value()) {
        inputs.resumePath = survey.path;
    } else {
        ASSIGN_OR_RETURN(inputs.initFromPath, findInitFrom());
    }
    Json job = makeJob(run_, run_.attempt + 1, directory_, inputs);
    job["resume_step"] = survey.chosen.has_value() ? survey.chosen->step : 0;
    job["from_step"] = start_->fromStep;
    job["restarts"] = restarts_;
    job["idle_attempts"] = idleAttempts_;
    return job;
}

// The plan of very many files is many megabytes: it is put into job.json beside the agent's thread.
void ActiveRun::askJob() {
    const Result<Json> job = nextJob();
    if (!job.ok()) {
        return failStart(job.status());
    }
    const std::uint64_t number = start_->number;
    const auto write = [&place = place_, id = run_.id, directory = directory_, job = *job,
                        attempt = run_.attempt + 1, number](const auto&) -> SideThread::Then {
        const Status written = writeJob(place.store, id, directory, attempt, job);
        return [&place, id, number, written] {
            if (ActiveRun* run = place.find(id)) {
                run->jobWritten(number, written);
            }
        };
    };
    const bool isAsked = place_.documents.run(write);
    // It may be written already.
    if (start_.has_value() && start_->number == number) {
        start_->isAsked = isAsked;
    }
}

void ActiveRun::jobWritten(std::uint64_t number, const Status& written) {
    if (!start_.has_value() || start_->number != number) {
        return;
    }
    if (stop_.has_value()) {
        start_.reset();
        return end(runs::RunState::kCancelled, stop_->reason);
    }
    Status status = written;
    if (status.ok()) {
        status = beginAttempt(*start_);
    }
    if (status.ok()) {
        start_.reset();
        status = place();
    }
    if (!status.ok()) {
        failStart(status);
    }
}

// Writes first: the store knows of the attempt before anything of it exists.
Status ActiveRun::beginAttempt(const Start& start) {
    const Survey& survey = *start.survey;
    const int attempt = run_.attempt + 1;
    fromStep_ = start.fromStep;
    hasBegun_ = false;
    resumeStep_ = survey.chosen.has_value() ? survey.chosen->step : 0;
    lastStep_ = resumeStep_;
    RETURN_IF_ERROR(
        place_.store.beginAttempt(run_.id, attempt, resumeStep_, start.isRestart, facts_.ranks));
    run_.attempt = attempt;
    job_ = {};
    errors_.clear();
    done_ = Json::object();
    doneRetryNs_ = 0;
    heldAcks_.clear();
    state_.reset();
    endSeenNs_ = ranksGoneNs_ = 0;
    isLingerCancelled_ = false;
    health_.restart();
    setState(runs::RunState::kStarting);
    addEvent(survey.chosen.has_value()
                 ? strCat("attempt ", attempt, " starts from step ", resumeStep_)
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
    startBackoffNs_ = 0;
    place_.pokeEngine();
    logInfo("run: started", {{"run", run_.id}, {"attempt", run_.attempt}, {"from", resumeStep_}});
    return okStatus();
}

// The attempt is in the store; its door or a part of its gang could not be had.
void ActiveRun::followPlacing() {
    if (place_.clock.steadyNs() < placeNs_ && !stop_.has_value()) {
        return;
    }
    placeNs_ = 0;
    if (stop_.has_value()) {
        return stopPlacing();
    }
    if (const Status status = place(); !status.ok()) {
        return failStart(status);
    }
    // What happened to the part that was there, nobody heard.
    if (const auto state = place_.engine.state(job_); state.ok()) {
        engineSays(*state);
    }
}

void ActiveRun::stopPlacing() {
    const auto found = place_.engine.find(gangKey(run_.id, run_.attempt));
    if (!found.ok()) {
        placeNs_ = tryLater(found.status());
        return;
    }
    if (!found->has_value()) {
        return end(runs::RunState::kCancelled, stop_->reason);
    }
    job_ = **found;
    stop_->isCancelled = true;
    (void)place_.engine.cancel(job_, kForcedGrace);
    place_.pokeEngine();
    if (const auto state = place_.engine.state(job_); state.ok()) {
        engineSays(*state);
    }
}

Status ActiveRun::openDoor() {
    connections_.clear();
    dropped_.clear();
    door_.reset();
    ASSIGN_OR_RETURN(door_, place_.doors.open(directory_.rankSocketPath(run_.attempt), run_.id,
                                              run_.attempt, place_.listener(run_.id)));
    return okStatus();
}

Result<std::string> ActiveRun::findInitFrom() const {
    if (facts_.initFrom.empty()) {
        return std::string();
    }
    const Result<std::string> id = place_.store.findId(facts_.initFrom);
    if (!id.ok()) {
        return annotate(id.status(), "train.init_from");
    }
    const std::string folder = RunDirectory(place_.runsDir, *id).checkpointsPath();
    ASSIGN_OR_RETURN(const auto checkpoints, place_.store.checkpoints(*id));
    for (const runs::CheckpointRecord& checkpoint : checkpoints) {
        const std::string path = strCat(folder, "/", checkpoint.name);
        if (::access(path.c_str(), R_OK) == 0) {
            return path;
        }
        if (errno != ENOENT) {
            return annotate(errnoStatus(errno, path), "train.init_from");
        }
    }
    return failedPrecondition("train.init_from: run ", *id, " has no checkpoint");
}

// --- what an earlier daemon left ---

void ActiveRun::readAttemptFile() {
    const Json job = directory_.readAttempt(run_.attempt);
    resumeStep_ = jsonInt(job, "resume_step");
    fromStep_ = jsonInt(job, "from_step");
    restarts_ = jsonInt(job, "restarts");
    idleAttempts_ = static_cast<int>(jsonInt(job, "idle_attempts"));
    const auto attempts = place_.store.attempts(run_.id);
    hasBegun_ = !attempts.ok() || attempts->empty() || attempts->back().hasBegun;
    lastStep_ = hasBegun_ ? std::max(run_.step, resumeStep_) : resumeStep_;
    // A checkpoint may be in the store before the progress of its step is.
    const auto checkpoints = place_.store.checkpoints(run_.id);
    for (std::size_t i = 0; checkpoints.ok() && i < checkpoints->size(); ++i) {
        const runs::CheckpointRecord& one = (*checkpoints)[i];
        lastStep_ = one.attempt == run_.attempt ? std::max(lastStep_, one.step) : lastStep_;
    }
    const Json done = directory_.readDone(run_.attempt);
    done_ = done.is_object() ? done : Json::object();
}

void ActiveRun::adopt() {
    readAttemptFile();
    live_.attempt = run_.attempt;
    live_.resumeStep = resumeStep_;
    if (run_.state == runs::RunState::kStopping) {
        requestStop(run_.exitReason, graceLeft());
    }
    findGang();
}

// What is left of the time that it was given when it was asked to stop.
std::chrono::milliseconds ActiveRun::graceLeft() const {
    const std::int64_t now = place_.clock.wallMs();
    const std::chrono::milliseconds left(directory_.readStop(run_.attempt).value_or(now) - now);
    return std::clamp(left, kGraceLeast, kGraceMost);
}

// There, not there, or unknown: only the first two are acted on.
void ActiveRun::findGang() {
    const auto found = place_.engine.find(gangKey(run_.id, run_.attempt));
    if (found.ok() && !found->has_value()) {
        isUnknown_ = false;
        return startLost();
    }
    Status status = found.status();
    if (status.ok()) {
        job_ = **found;
        status = followGang();
    } else if (door_ == nullptr) {
        // What its workers say can be taken all the same.
        (void)openDoor();
    }
    if (!status.ok()) {
        return noteUnknown(status);
    }
    isUnknown_ = false;
    live_.queuedReason.clear();
    addEvent(strCat("attempt ", run_.attempt, " adopted by a new daemon"));
    publish();
}

// An error: not known yet.
Status ActiveRun::followGang() {
    if (door_ == nullptr) {
        RETURN_IF_ERROR(openDoor());
    }
    if (run_.state == runs::RunState::kStarting) {
        // A daemon that ended in the middle of a start may have left workers out.
        const Status status =
            place_.engine
                .submit(makeGang(run_, run_.attempt, facts_, directory_, place_.binDir, needs_))
                .status();
        if (absl::IsAlreadyExists(status)) {
            RETURN_IF_ERROR(endHalfStarted());
        } else {
            RETURN_IF_ERROR(status);
        }
    }
    ASSIGN_OR_RETURN(const engines::State state, place_.engine.state(job_));
    engineSays(state);
    return okStatus();
}

// Started in part, and this daemon would start something else: the attempt cannot become whole.
Status ActiveRun::endHalfStarted() {
    ASSIGN_OR_RETURN(const engines::State state, place_.engine.state(job_));
    const bool isWhole = std::all_of(state.workers.begin(), state.workers.end(),
                                     [](const engines::WorkerState& w) { return w.isStarted; });
    if (isWhole || state.phase == engines::Phase::kEnded) {
        return okStatus();
    }
    if (!isHalfStarted_) {
        addEvent(strCat("attempt ", run_.attempt,
                        ": an earlier daemon started a part of its workers, in another way than "
                        "this one would; they are ended, and another attempt starts"));
    }
    isHalfStarted_ = true;
    return place_.engine.cancel(job_, kForcedGrace);
}

// The store knows the attempt, but the engine never got it.
void ActiveRun::startLost() {
    if (stop_.has_value()) {
        return end(runs::RunState::kCancelled, stop_->reason);
    }
    if (const Status status = place(); !status.ok()) {
        failStart(status);
    }
}

void ActiveRun::noteUnknown(const Status& status) {
    const std::int64_t now = place_.clock.steadyNs();
    askAgainNs_ = now + kAskAgainNs;
    if (!isUnknown_) {
        isUnknown_ = true;
        unknownSinceNs_ = now;
        live_.queuedReason =
            strCat("its workers cannot be asked for: ", messageOf(status), "; trying again");
        addEvent(strCat("attempt ", run_.attempt, ": ", live_.queuedReason));
        logWarn("run: not known whether it lives",
                {{"run", run_.id}, {"attempt", run_.attempt}, {"why", messageOf(status)}});
    }
    publish();
}

// An engine that follows it keeps its workers alive: they would train beside the next attempt.
void ActiveRun::cancelLost() {
    const std::string key = gangKey(run_.id, run_.attempt);
    const engines::JobId job =
        job_.native == key ? job_ : engines::JobId{place_.engine.name(), "", key};
    if (const Status status = place_.engine.cancel(job, kForcedGrace); !status.ok()) {
        logWarn("run: lost workers not ended", {{"run", run_.id}, {"why", messageOf(status)}});
    }
    place_.pokeEngine();
}

void ActiveRun::askAgain() {
    const std::int64_t now = place_.clock.steadyNs();
    if (!connections_.empty()) {
        unknownSinceNs_ = now;  // somebody is there
    }
    if (now - unknownSinceNs_ >= kLostNs) {
        isUnknown_ = false;
        live_.queuedReason.clear();
        cancelLost();
        engines::State lost;
        lost.reason = "its workers could not be asked for and were silent for 11 minutes";
        return engineSays(lost);
    }
    if (now >= askAgainNs_) {
        findGang();
    }
}

}  // namespace millrace::agent

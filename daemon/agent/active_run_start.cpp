// ActiveRun, the part that brings an attempt on its way: the survey of its checkpoints, its job and
// gang; or the gang that an earlier daemon left.
#include <algorithm>
#include <utility>

#include <unistd.h>

#include "backend/core/files.h"
#include "backend/core/log.h"
#include "backend/core/text.h"
#include "daemon/agent/active_run.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kAskAgainNs = 1'000 * kNsPerMs;
// Longer than the guardians' lease of 10 minutes: workers that nobody could ask for have ended.
constexpr std::int64_t kLostNs = 11 * 60 * 1'000 * kNsPerMs;
constexpr std::chrono::milliseconds kForcedGrace{2'000};

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
        const checkpoint::ReadWatch watch{
            [&] { return stop.stop_requested() || isEnding(); },
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
    if (!start_->isAsked) {
        askSurvey();
        return;
    }
    const std::uint64_t bytes = start_->bytesRead->load();
    live_.queuedReason = bytes == 0 ? "reads its checkpoints"
                                    : strCat("reads its checkpoints: ",
                                             formatBytes(static_cast<double>(bytes)), " so far");
    publish();
}

void ActiveRun::surveyed(std::uint64_t number, const Survey& survey) {
    if (!start_.has_value() || start_->number != number) {
        return;
    }
    const Start start = *std::exchange(start_, std::nullopt);
    for (const std::string& event : survey.events) {
        addEvent(event);
    }
    if (stop_.has_value()) {
        return end(runs::RunState::kCancelled, stop_->reason);
    }
    Status status = survey.status;
    if (status.ok()) {
        status = prepareAttempt(start, survey);
    }
    if (status.ok()) {
        status = place();
    }
    if (!status.ok()) {
        end(runs::RunState::kFailed, strCat("could not be started: ", messageOf(status)));
    }
}

// Writes first: the store knows of the attempt before anything of it exists.
Status ActiveRun::prepareAttempt(const Start& start, const Survey& survey) {
    const int attempt = run_.attempt + 1;
    JobInputs inputs;
    if (survey.chosen.has_value()) {
        inputs.resumePath = survey.path;
    } else {
        ASSIGN_OR_RETURN(inputs.initFromPath, findInitFrom());
    }
    fromStep_ = start.fromStep;
    hasBegun_ = false;
    resumeStep_ = survey.chosen.has_value() ? survey.chosen->step : 0;
    lastStep_ = resumeStep_;
    RETURN_IF_ERROR(directory_.prepare(attempt));
    ASSIGN_OR_RETURN(const runs::RunRecord full, place_.store.get(run_.id));
    Json job = makeJob(full, attempt, directory_, inputs);
    job["resume_step"] = resumeStep_;
    job["from_step"] = fromStep_;
    job["restarts"] = restarts_;
    job["idle_attempts"] = idleAttempts_;
    RETURN_IF_ERROR(directory_.writeJob(attempt, job));
    RETURN_IF_ERROR(place_.store.beginAttempt(run_.id, attempt, resumeStep_, start.isRestart));
    run_.attempt = attempt;
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
    const Result<std::string> text = readFile(directory_.jobPath(run_.attempt));
    const Result<Json> job = text.ok() ? parseJson(*text, "job.json") : Result<Json>(text.status());
    if (job.ok()) {
        resumeStep_ = jsonInt(*job, "resume_step");
        fromStep_ = jsonInt(*job, "from_step");
        restarts_ = jsonInt(*job, "restarts");
        idleAttempts_ = static_cast<int>(jsonInt(*job, "idle_attempts"));
    }
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
        requestStop(run_.exitReason, std::chrono::seconds(15));
    }
    findGang();
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
    const bool isWhole =
        std::all_of(state.workers.begin(), state.workers.end(),
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
    const Status status = place();
    if (!status.ok()) {
        end(runs::RunState::kFailed, strCat("could not be started: ", messageOf(status)));
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

void ActiveRun::askAgain() {
    const std::int64_t now = place_.clock.steadyNs();
    if (!connections_.empty()) {
        unknownSinceNs_ = now;  // somebody is there
    }
    if (now - unknownSinceNs_ >= kLostNs) {
        isUnknown_ = false;
        live_.queuedReason.clear();
        engines::State lost;
        lost.reason = "its workers could not be asked for and were silent for 11 minutes";
        return engineSays(lost);
    }
    if (now >= askAgainNs_) {
        findGang();
    }
}

}  // namespace millrace::agent

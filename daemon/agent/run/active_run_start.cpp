// The part of ActiveRun that starts an attempt: its preparation, its record in the store, its
// listener and its gang.
#include <utility>

#include "backend/core/log.h"
#include "daemon/agent/run/active_run.h"

namespace millrace::agent {

void ActiveRun::launch(std::int64_t fromStep, bool isRestart) {
    move(Move::kLaunch);
    health_.restart();
    health_.tell({}, attempt(), journal_.live());  // no worker of the previous attempt is left
    stop_ = isStopped() ? stop_ : std::nullopt;
    preparation_.emplace(place_, ++numPreparations_, fromStep, isRestart, isToBeCounted(*spec_));
    if (attempt() == 0 && !preparation_->isCounting()) {
        move(Move::kAsked);
        return surveyed(preparation_->number(), {});  // it has no checkpoints yet
    }
    if (begin_.idleAttempts == 0) {
        return askSurvey();
    }
    journal_.live().queuedReason = "begins again shortly: the attempt before took no step";
    state_.setRetry(place_.clock.steadyNs() + pauseBehindIdle(begin_.idleAttempts));
}

// Asks again for what could not be asked for or failed.
void ActiveRun::followPreparation() {
    if (stop_.has_value()) {
        return endStopped();
    }
    if (state_.isDue(place_.clock.steadyNs())) {
        stage() == Stage::kSurveyDue ? askSurvey() : askJob();
    }
}

void ActiveRun::askSurvey() {
    if (const Status over = endFormer(place_, key()); !over.ok()) {
        return tryLater(over);
    }
    move(Move::kAsked);
    const std::uint64_t number = preparation_->number();
    CheckpointScanRequest order{id(), journal_.run().streamHash};
    order.keep = spec_->train.checkpointKeep;
    const bool isAsked = preparation_->askSurvey(std::move(order), answer(&ActiveRun::surveyed));
    if (!isAsked && isAnswerTo(Stage::kSurveying, number)) {
        move(Move::kNotNow);
    }
}

bool ActiveRun::isAnswerTo(Stage asked, std::uint64_t number) const {
    return stage() == asked && preparation_.has_value() && preparation_->number() == number;
}

void ActiveRun::surveyed(std::uint64_t number, const CheckpointScan& scan) {
    if (!isAnswerTo(Stage::kSurveying, number)) {
        return;
    }
    journal_.addNews(scan.events, "run: scan");
    if (stop_.has_value()) {
        return endStopped();
    }
    if (!scan.status.ok()) {
        return failStart(scan.status);
    }
    journal_.pin(scan.counted);
    spec_ = scan.spec == nullptr ? spec_ : scan.spec;
    preparation_->setSurvey(scan);
    move(Move::kSurveyed);
    askJob();
}

void ActiveRun::failStart(const Status& status) {
    if (mayPass(status)) {
        return tryLater(status);
    }
    const std::string reason = strCat("could not be started: ", messageOf(status));
    if (stage() != Stage::kPlacing) {
        return end(values::RunState::kFailed, reason);
    }
    startFailure_ = reason;
    stopPlacing();
}

void ActiveRun::tryLater(const Status& status) {
    journal_.live().queuedReason =
        strCat("cannot be started now: ", messageOf(status), "; trying again");
    journal_.waits(startBackoffNs_ == 0, "run: not started yet");
    const bool awaitsNodes = stage() == Stage::kPlacing && parts_.lacksNodes();
    startBackoffNs_ = pauseBehind(startBackoffNs_, awaitsNodes);
    move(Move::kNotNow);
    state_.setRetry(place_.clock.steadyNs() + startBackoffNs_);
}

Result<job::JobFile> ActiveRun::nextJob() const {
    const CheckpointScan& scan = *preparation_->scan();
    job::JobFile job = makeJob(journal_.run(), *spec_, attempt() + 1, journal_.directory().paths());
    if (scan.chosen.has_value()) {
        job.resume = scan.path;
    } else {
        ASSIGN_OR_RETURN(job.initFrom, findInitFrom(place_, *spec_));
    }
    job.dataListen = place_.nodes.standing("").address;
    return job;
}

void ActiveRun::askJob() {
    if (const Status room = journal_.directory().checkRoom(); !room.ok()) {
        return tryLater(room);
    }
    Result<job::JobFile> job = nextJob();
    if (!job.ok()) {
        return failStart(job.status());
    }
    move(Move::kAsked);
    const std::uint64_t number = preparation_->number();
    AttemptStart start = begin_;
    start.resumeStep = preparation_->resumeStep();
    start.fromStep = preparation_->fromStep();
    const bool isAsked =
        preparation_->askJob(std::move(*job), start, answer(&ActiveRun::jobWritten));
    if (!isAsked && isAnswerTo(Stage::kJobWriting, number)) {
        move(Move::kNotNow);
    }
}

void ActiveRun::jobWritten(std::uint64_t number, const Status& written) {
    if (!isAnswerTo(Stage::kJobWriting, number)) {
        return;
    }
    if (stop_.has_value()) {
        return endStopped();
    }
    const Status status = written.ok() ? beginAttempt() : written;
    if (!status.ok()) {
        return failStart(status);
    }
    preparation_.reset();
    move(Move::kBegun);
    place();
}

// Writes first: the store knows of the attempt before anything of it exists.
Status ActiveRun::beginAttempt() {
    const int next = attempt() + 1;
    const std::int64_t resumeStep = preparation_->resumeStep();
    RETURN_IF_ERROR(place_.store.beginAttempt(id(), next, resumeStep, preparation_->isRestart(),
                                              spec_->train.ranks, hasOneStep(*spec_)));
    begin_.resumeStep = resumeStep;
    begin_.fromStep = preparation_->fromStep();
    hasBegun_ = isAdopted_ = false;
    cut_.begin();
    position_.step = resumeStep;
    journal_.setAttempt(next);
    times_.begin(place_.store.attempts(id()), journal_.live());
    errors_.clear();
    done_.begin(next);
    gang_.reset();
    journal_.setState(values::RunState::kStarting);
    journal_.addEvent(preparation_->scan()->chosen.has_value()
                          ? strCat("attempt ", next, " starts from step ", resumeStep)
                          : strCat("attempt ", next, " starts"));
    return okStatus();
}

void ActiveRun::place() {
    const Status status = placeNow();
    status.ok() ? move(Move::kPlaced) : failStart(status);
}

Status ActiveRun::placeNow() {
    RETURN_IF_ERROR(openListener());
    RETURN_IF_ERROR(parts_.begin(journal_.directory().paths(), attempt()));
    journal_.tellPlaced(begin_.resumeStep, parts_.node());
    RETURN_IF_ERROR(parts_.placeLead());
    crew_.begin(parts_.paths(), attempt(), workersBeside(*spec_, parts_.nodes()));
    recovery_.placed();
    startBackoffNs_ = 0;
    (void)(spec_->hasDataset() || journal_.tellRunning());
    logInfo("run: started", {{"run", id()}, {"attempt", attempt()}, {"from", begin_.resumeStep}});
    return okStatus();
}

// Retries if the attempt is in the store but its listener or a part of its gang failed to start.
void ActiveRun::followPlacing() {
    if (stop_.has_value() || (!startFailure_.empty() && state_.isDue(place_.clock.steadyNs()))) {
        return stopPlacing();
    }
    if (!state_.isDue(place_.clock.steadyNs())) {
        return;
    }
    place();
    if (stage() != Stage::kRunning) {
        return;
    }
    lookAtGang();  // its state may have changed while it was being placed
}

// The run was stopped or cannot be placed: workers that were started end before the run does.
void ActiveRun::stopPlacing() {
    const Result<bool> found = parts_.find(journal_.directory().paths(), attempt());
    if (!found.ok()) {
        return tryLater(found.status());
    }
    if (!*found) {
        return stop_.has_value() ? endStopped() : end(values::RunState::kFailed, startFailure_);
    }
    cut(Move::kCut);
    lookAtGang();
}

Status ActiveRun::openListener() {
    return listener_.open(journal_.directory().paths().attempt(attempt()).rankSocket(), id(),
                          attempt(), place_.listener(id()), done_.ranks());
}

}  // namespace millrace::agent

// The part of ActiveRun that adopts what an earlier daemon left: a gang that exists, does not
// exist, or cannot be asked for.
#include <algorithm>

#include "backend/core/log.h"
#include "backend/core/transient.h"
#include "daemon/agent/run/active_run.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kAskAgainNs = 1'000'000'000;
// Longer than the guardians' lease of 10 minutes: workers that did not answer have ended by then.
constexpr std::int64_t kLostNs = 11 * 60 * 1'000'000'000LL;

}  // namespace

void ActiveRun::readAttemptFile() {
    begin_ = journal_.directory().readAttempt(attempt());
    const auto attempts = place_.store.attempts(id());
    hasBegun_ = !attempts.ok() || attempts->empty() || attempts->back().hasBegun;
    position_.step =
        hasBegun_ ? std::max(journal_.run().progress.step, begin_.resumeStep) : begin_.resumeStep;
    // A checkpoint may be in the store before the progress of its step is.
    position_.step = std::max(position_.step, checkpoints_.newestStep(attempt()));
    done_.read(attempt());
    for (const std::int64_t rank : done_.ranks()) {
        health_.noteDone(job::rankName(static_cast<int>(rank)));
    }
    times_.begin(attempts, journal_.live());
}

void ActiveRun::adopt() {
    move(Move::kAdopt);
    isAdopted_ = true;
    readAttemptFile();
    journal_.tellPlaced(begin_.resumeStep);
    checkpoints_.look(answer(&ActiveRun::retained));  // that daemon may have died first
    if (journal_.run().state == values::RunState::kStopping) {
        requestStop(journal_.run().exitReason,
                    journal_.directory().graceLeft(attempt(), place_.clock.wallMs()));
    }
    findGang();
}

// Finds out whether the gang exists. Acts only on a definite answer, not if it is unknown.
void ActiveRun::findGang() {
    const Result<bool> found = parts_.find(journal_.directory().paths(), attempt());
    if (found.ok() && !*found) {
        // The store knows the attempt, but the engine never got it.
        move(Move::kNeverPlaced);
        return stop_.has_value() ? endStopped() : place();
    }
    Status status = found.status();
    if (status.ok()) {
        status = followGang();
    } else if (!listener_.isOpen()) {
        (void)openListener();  // its workers' lines can be received all the same
    }
    if (!status.ok()) {
        return noteUnknown(status);
    }
    journal_.live().queuedReason.clear();
    journal_.addEvent(strCat("attempt ", attempt(), " adopted by a new daemon"));
    journal_.publish();
}

// Returns an error if the gang's state is not known yet.
Status ActiveRun::followGang() {
    if (!listener_.isOpen()) {
        RETURN_IF_ERROR(openListener());
    }
    RETURN_IF_ERROR(parts_.begin(journal_.directory().paths(), attempt()));
    // A daemon that ended in the middle of a start may not have started all workers.
    const Status status = parts_.placeLead();
    const bool isOther = absl::IsAlreadyExists(status);  // this daemon would start another gang
    if (!status.ok() && !isOther) {
        if (mayPass(status) || journal_.run().state == values::RunState::kStarting) {
            return status;
        }
        logWarn("run: its workers would not be replaced",
                {{"run", id()}, {"why", messageOf(status)}});
    }
    journal_.addNews(parts_.tick(), "run: parts");
    const engines::State state = parts_.state();
    if (isOther && !isWhole(state) && state.phase != engines::Phase::kEnded) {
        journal_.addEvent(strCat("attempt ", attempt(),
                                 ": an earlier daemon started a part of its workers, in another "
                                 "way than this one would; they are ended, and another attempt "
                                 "starts"));
        cut(Move::kHalf);
    } else {
        ASSIGN_OR_RETURN(const auto heard, journal_.ranksHeard(spec_->train.ranks));
        move(Move::kFound);
        (void)(spec_->hasDataset() || journal_.tellRunning());
        health_.noteHeard(heard);
        crew_.begin(parts_.paths(), attempt(), workersBeside(*spec_, parts_.nodes()));
        // An earlier daemon asked its ranks to move: they may have stopped by now.
        parts_.isLeft() && !stop_.has_value() ? leaveNodes() : void();
    }
    noteGang(state);
    return okStatus();
}

void ActiveRun::noteUnknown(const Status& status) {
    const std::int64_t now = place_.clock.steadyNs();
    const bool isFirst = !state_.isRetrying();
    state_.setRetry(now + kAskAgainNs);
    if (isFirst || absl::IsResourceExhausted(status)) {  // no room: the engine has answered
        heardNs_ = now;
        journal_.live().queuedReason =
            strCat("its workers cannot be asked for: ", messageOf(status), "; trying again");
    }
    journal_.waits(isFirst, "run: not known whether it lives");
}

void ActiveRun::askAgain() {
    const std::int64_t now = place_.clock.steadyNs();
    heardNs_ = listener_.isEmpty() ? heardNs_ : now;  // a worker is connected
    if (now - heardNs_ >= kLostNs) {
        journal_.live().queuedReason.clear();
        engines::State lost;
        lost.reason = "its workers could not be asked for and were silent for 11 minutes";
        return noteGang(lost);
    }
    if (state_.isDue(now)) {
        findGang();
    }
}

}  // namespace millrace::agent

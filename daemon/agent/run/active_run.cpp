#include "daemon/agent/run/active_run.h"

#include <algorithm>
#include <utility>

#include "backend/core/log.h"

namespace millrace::agent {
namespace {

// After the gang's end: how long to wait for the rest of what its sockets hold.
constexpr std::int64_t kDrainNs = 2'000 * kNsPerMs;
constexpr std::int64_t kCancelAgainNs = 1'000 * kNsPerMs;

}  // namespace

ActiveRun::ActiveRun(Workplace& place, runs::RunRecord run, SharedSpec spec)
    : place_(place),
      spec_(std::move(spec)),
      journal_(place, std::move(run)),
      listener_(place.listeners, spec_->train.nodes > 1 ? static_cast<int>(spec_->train.ranks) : 0),
      done_(journal_.directory(), place.clock),
      checkpoints_(place, journal_.id(), spec_->train.checkpointKeep),
      health_(place.clock),
      cut_(spec_, place.times.silentRankNs, health_, done_),
      crew_({place.clock, place.nodes, place.times.crewPaceNs}, journal_.id(),
            static_cast<int>(spec_->resources.dataWorkersMin),
            static_cast<int>(spec_->resources.dataWorkersMax)),
      parts_({place.clock, place.nodes, static_cast<int>(spec_->train.ranks / spec_->train.nodes),
              partsOf(*spec_, place.trainsHere()),
              [this](const PartName& name, const std::string& node, int port,
                     const schedule::Resources& needs) {
                  return placementOf(name, node, port, needs);
              }},
             journal_.id(), static_cast<int>(spec_->train.nodes)),
      recovery_(place.clock),
      end_(place, journal_) {
    journal_.live().epochs = epochsOf(*spec_);
    if (isScript(*spec_)) {
        health_.setLimits(scriptLimits(*spec_));
    }
}

void ActiveRun::hello(rank::ConnectionId connection, const rank::Sender& sender) {
    listener_.hello(connection, sender);
    health_.hello(sender);
    if (sender.role != "rank") {
        return;
    }
    if (stop_.has_value()) {
        listener_.stop(connection);
    } else if (sender.rank == 0 && journal_.tellRunning()) {
        recovery_.loaded();
    }
}

TimeLines ActiveRun::heard(const rank::Sender& sender, const rank::RankLine& line) {
    health_.heard(sender, line);
    listener_.heard(sender, line);
    const auto* progress = std::get_if<rank::Progress>(&line.body);
    if (progress == nullptr || sender.role != "rank" || sender.rank != 0 ||
        line.attempt != attempt()) {
        return {};
    }
    position_.step = std::max(position_.step, progress->step);
    position_.epoch = progress->epoch;
    position_.rows = progress->rows;
    journal_.addNews(recovery_.reached(progress->step, begin_.resumeStep), "run: recovered");
    return times_.heard(*progress, health_.recent(0), place_.clock.wallMs(), journal_.live());
}

void ActiveRun::committed(const CommittedLine& line) {
    if (line.attempt != attempt()) {
        return;  // of an older attempt: it is only stored
    }
    noticeBegin(line);
    journal_.addNews(newsOf(line), "run: worker");
    if (line.hasSettled) {
        checkpoints_.look(answer(&ActiveRun::retained));
    }
    if (const auto* metrics = std::get_if<rank::Metrics>(&line.line.body)) {
        const bool isRank = job::rankOf(line.worker).has_value();  // a feed is ahead of its ranks
        position_.step = std::max(position_.step, isRank ? metrics->step : 0);
        crew_.advise(metrics->values);
    } else if (const auto* error = std::get_if<rank::ErrorLine>(&line.line.body)) {
        errors_[line.worker] = error->message;
    } else if (const auto* checkpoint = std::get_if<rank::Checkpoint>(&line.line.body)) {
        position_.step = std::max(position_.step, checkpoint->step);
        checkpoints_.look(answer(&ActiveRun::retained));
    } else if (const auto* done = std::get_if<rank::Done>(&line.line.body)) {
        position_.step = std::max(position_.step, done->step);
        done_.say(line.worker, *done);
    } else if (const auto* receipt = std::get_if<rank::ReceiptLine>(&line.line.body)) {
        journal_.noteReceipt(line.worker, receipt->receipt, isScript(*spec_));
        done_.account(line.worker, receipt->receipt);
    }
}

// The store has cut the steps that this attempt replaces (by these lines, or a found checkpoint).
void ActiveRun::noticeBegin(const CommittedLine& line) {
    if (hasBegun_ || !line.hasBegun) {
        return;
    }
    hasBegun_ = true;
    if (attempt() > 1) {
        checkpoints_.setVoidAside();
    }
}

std::vector<schedule::Part> ActiveRun::partsToPlace() const {
    return parts_.isHolding() || isOver(stage()) ? std::vector<schedule::Part>()
                                                 : partsOf(*spec_, place_.trainsHere());
}

// The feed that leads listens on the node of part 0, and the ranks meet there.
Result<Placement> ActiveRun::placementOf(const PartName& name, const std::string& node,
                                         int masterPort, const schedule::Resources& needs) const {
    const job::RunPaths paths = journal_.directory().paths();
    return name.part > 0 ? makePart(journal_.run(), name, *spec_, paths, parts_.rendezvous(),
                                    masterPort, needs)
                         : makeLead(journal_.run(), name, *spec_, paths, parts_.rendezvous(),
                                    node.empty(), needs);
}

void ActiveRun::lookAtGang() {
    if (!isGoing(stage())) {
        return;
    }
    journal_.addNews(parts_.tick(), "run: parts");
    journal_.live().queuedReason = parts_.waiting();
    noteGang(parts_.state());
}

void ActiveRun::noteGang(const engines::State& state) {
    gang_ = state;
    journal_.live().handOver = state.handOver;
    health_.setTrouble("checkpoint", values::troubleOf(state.handOver));
    checkpoints_.look(state.handOver, answer(&ActiveRun::retained));
    const bool isGone = !engines::isLiving(state);
    recovery_.look(state);
    if (isGone) {  // unreachable parts may live, beside the next attempt
        (void)parts_.end({GangTermination::kGrace, "the attempt is over"});
    }
    if (isGone && state_.may(Move::kGangOver)) {
        move(Move::kGangOver);
    } else if (!isGone && !state.workers.empty() && !hasLivingRank(state) && !parts_.isAwaited() &&
               state_.may(Move::kRanksGone)) {
        move(Move::kRanksGone);
    }
    journal_.publish();
}

void ActiveRun::requestStop(const std::string& reason, std::chrono::milliseconds grace) {
    const std::int64_t deadline = place_.clock.steadyNs() + grace.count() * kNsPerMs;
    if (isOver(stage()) || (isStopped() && stop_->deadlineNs <= deadline)) {
        return;
    }
    // Written so that the next daemon, if this one ends meanwhile, gives the same grace.
    (void)journal_.directory().writeStop(attempt(), place_.clock.wallMs() + grace.count());
    if (isStopped()) {
        stop_->deadlineNs = deadline;
        return stage() == Stage::kCutting ? askCancel() : void();
    }
    stop_ = GangStop{reason, deadline};
    if (journal_.run().state != values::RunState::kStopping) {
        journal_.setState(values::RunState::kStopping, reason);
        journal_.addEvent(strCat("asked to stop: ", reason));
    }
    listener_.stopRanks();
    const bool isDropped = preparation_.has_value() && preparation_->stop();
    journal_.publish();
    isDropped&& stage() == Stage::kSurveying ? endStopped() : void();
}

void ActiveRun::tick(bool isFlushed) {
    journal_.look();
    switch (stage()) {
        case Stage::kNew:
        case Stage::kReceiptMaking:
        case Stage::kEnded:
            return;
        case Stage::kSurveyDue:
        case Stage::kJobDue:
            return followPreparation();
        case Stage::kSurveying:
        case Stage::kJobWriting:
            journal_.live().queuedReason = preparation_->text();
            return journal_.publish();
        case Stage::kPlacing:
            return followPlacing();
        case Stage::kReceiptDue:
            return state_.isDue(place_.clock.steadyNs()) ? askReceipt() : void();
        case Stage::kEndDue:
            return state_.isDue(place_.clock.steadyNs()) ? storeEnd() : void();
        case Stage::kUnknown:
        case Stage::kRunning:
        case Stage::kLingering:
        case Stage::kCutting:
        case Stage::kDropping:
        case Stage::kDraining:
        case Stage::kDropped:
            return followGoing(isFlushed);
    }
}

// Called while its workers may be alive, or were until a moment ago.
void ActiveRun::followGoing(bool isFlushed) {
    followParts();
    lookAtHealth();
    journal_.publish();
    done_.retry() ? listener_.releaseAcks() : void();
    if (stage() == Stage::kUnknown) {
        return askAgain();
    }
    if (stage() != Stage::kDraining && stage() != Stage::kDropped) {
        return followDeadlines();
    }
    const bool isDrained =
        listener_.isEmpty() || place_.clock.steadyNs() - state_.sinceNs() >= kDrainNs;
    if (isDrained && crew_.isOver() && isFlushed) {
        conclude();
    }
}

// All parts are one attempt: a failure on one node ends it on all.
void ActiveRun::followParts() {
    lookAtGang();
    if (parts_.hasFailed() && state_.may(Move::kCut)) {
        cut(Move::kCut);
    }
    !stop_.has_value() && stage() == Stage::kRunning ? leaveNodes() : void();
}

// To leave a node, all ranks stop after the same step, with a checkpoint, and resume elsewhere.
void ActiveRun::leaveNodes() {
    const auto leave = parts_.leave();
    if (!leave) {
        return;
    }
    stop_ = GangStop{leave->why, place_.clock.steadyNs() + leave->grace.count() * kNsPerMs, true};
    journal_.addEvent(strCat(leave->why, ": its ranks stop and resume on other nodes"));
    listener_.stopRanks();
}

// Ends a gang that has used up its time for a checkpoint, and a feed that outlives its ranks.
void ActiveRun::followDeadlines() {
    const std::int64_t now = place_.clock.steadyNs();
    const bool isGraceOver = stop_.has_value() && now >= stop_->deadlineNs;
    journal_.addNews(parts_.giveUpFiles(isGraceOver), "run: parts");
    if (!state_.may(Move::kCut)) {  // it was told to end
        if (state_.isRetrying() && state_.isDue(now)) {
            askCancel();
        }
        return;
    }
    const GangView view = {stage(),    now - state_.sinceNs(), gang_,
                           extent(),   stop_.has_value(),      stop_.has_value() && stop_->isMove,
                           isGraceOver};
    if (!cut_.isDue(view)) {
        return;
    }
    cut_.isStandstill() ? recovery_.noticed(health_.standsSinceMs()) : void();
    cut_.event().empty() ? void() : journal_.addEvent(cut_.event());
    cut(Move::kCut);
}

void ActiveRun::cut(Move how) {
    if (gang_.has_value()) {
        done_.cut(*gang_);
    }
    move(how);
    askCancel();
}

void ActiveRun::askCancel() {
    const std::int64_t leftNs = stop_ ? stop_->deadlineNs - place_.clock.steadyNs() : 0;
    const std::string why = whyCut(cut_.why(), stop_ ? stop_->reason : "", gang_);
    const Status status = parts_.end({cut_.grace(leftNs), why});
    state_.setRetry(status.ok() ? 0 : place_.clock.steadyNs() + kCancelAgainNs);
}

// Data workers run while the feed does; none outlives it.
void ActiveRun::lookAtHealth() {
    journal_.addNews(crew_.tick(hasFeed(stage())), "run: data workers");
    const engines::State all = crew_.with(gang_);
    health_.setWorkers(all);
    journal_.addNews(health_.look(parts_.unreached(), parts_.held()), "run: health");
    health_.tell(all, attempt(), journal_.live());
    times_.look(place_.clock.wallMs(), journal_.live());
}

AttemptExtent ActiveRun::extent() const {
    return {static_cast<int>(spec_->train.ranks), begin_.resumeStep, epochsOf(*spec_),
            spec_->train.maxSteps, isAdopted_};
}

AttemptReports ActiveRun::attemptFacts() const {
    AttemptReports facts{.attempt = attempt()};
    facts.ranks = spec_->train.ranks;
    facts.done = done_.ranks();
    facts.doneReason = done_.reason();
    facts.isDoneKept = done_.hasRank0() && checkpoints_.hasFrom(done_.stepOfRank0());
    facts.isScript = isScript(*spec_);
    facts.hasStream = spec_->hasDataset();
    facts.idleRanks = done_.idleRanks(extent(), health_);
    facts.cutRanks = done_.cutRanks();
    facts.isStopRequested = isStopped();
    facts.stopReason = isStopped() ? stop_->reason : "";
    facts.moveReason = stop_.has_value() && stop_->isMove ? stop_->reason : "";
    facts.lackedRoom = journal_.lackedRoom();
    facts.start = begin_;
    facts.lastStep = position_.step;
    facts.maxRestarts = spec_->train.maxRestarts;
    facts.errors = errors_;
    cut_.tell(facts);
    addLastWords(place_, id(), *gang_, facts);
    return facts;
}

void ActiveRun::conclude() {
    done_.cost(*gang_);
    if (stage() == Stage::kDropped && !isStopped()) {
        return launch(begin_.fromStep);
    }
    if (!startFailure_.empty() && !isStopped()) {
        return end(values::RunState::kFailed, startFailure_);
    }
    const AttemptReports facts = attemptFacts();
    const Verdict verdict = judge(facts, *gang_);
    if (const auto state = endOf(verdict.kind)) {
        return end(*state, verdict.reason);
    }
    journal_.tellNext(verdict.reason, !facts.moveReason.empty());
    recovery_.failed(facts.lastStep);
    begin_.follow(facts.lastStep, verdict.isCounted, verdict.reason);
    // The requested step holds until an attempt has begun.
    launch(hasBegun_ ? values::kFromLast : begin_.fromStep, verdict.isCounted);
}

}  // namespace millrace::agent

#include "daemon/agent/run/verdict.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <signal.h>

#include "backend/job/attempt_paths.h"

namespace millrace::agent {
namespace {

const engines::WorkerState* findWorker(const engines::State& gang, std::string_view name) {
    for (const engines::WorkerState& worker : gang.workers) {
        if (worker.name == name) {
            return &worker;
        }
    }
    return nullptr;
}

/// The worker with the exit code for an input error, so that a restart would fail in the same way.
/// That is the feed, whichever worker failed first, or the engine's first failure. Other workers do
/// not count: their errors are consequences of the first. Null: there is none.
const engines::WorkerState* failedOnInput(const AttemptReports& facts, const engines::State& gang) {
    for (const std::string_view name : {job::kFeed, std::string_view(gang.worker)}) {
        if (facts.isScript && name != job::kFeed) {
            continue;  // a script's exit codes have their own meaning
        }
        const engines::WorkerState* worker = findWorker(gang, name);
        if (worker != nullptr && worker->exitCode == kExitInput) {
            return worker;
        }
    }
    return nullptr;
}

// The node is to blame, not a worker.
bool isOfNode(const engines::State& gang) {
    return gang.cause == engines::Cause::kNodeLost || gang.cause == engines::Cause::kRefused;
}

// The worker that caused the end: one that failed on its input, else the engine's first, else one
// that reported an error.
std::string culprit(const AttemptReports& facts, const engines::State& gang) {
    if (const engines::WorkerState* worker = failedOnInput(facts, gang)) {
        return worker->name;
    }
    if (!gang.worker.empty()) {
        return gang.worker;
    }
    return facts.errors.empty() ? std::string() : facts.errors.begin()->first;
}

// The first rank that has not reported `done`; nothing: all have.
std::optional<std::int64_t> rankWithoutDone(const AttemptReports& facts) {
    for (std::int64_t rank = 0; rank < facts.ranks; ++rank) {
        if (!facts.done.contains(rank)) {
            return rank;
        }
    }
    return std::nullopt;
}

// If the daemon ended the gang itself because its ranks had left, the engine has no reason.
const std::string& engineReason(const engines::State& gang) {
    static const std::string kNone;
    return gang.cause == engines::Cause::kCancelled ? kNone : gang.reason;
}

// The script's rank that ended by itself with code 0 and never read the stream: a restart would end
// in the same way.
std::optional<std::int64_t> idleRank(const AttemptReports& facts, const engines::State& gang) {
    const auto isIdle = [&](std::int64_t rank) {
        const engines::WorkerState* worker =
            findWorker(gang, job::rankName(static_cast<int>(rank)));
        return worker != nullptr && worker->exitCode == 0;
    };
    const auto found = std::find_if(facts.idleRanks.begin(), facts.idleRanks.end(), isIdle);
    const bool counts =
        facts.isScript && !facts.stoodStill && gang.worker.empty() && engineReason(gang).empty();
    return counts && found != facts.idleRanks.end() ? std::optional(*found) : std::nullopt;
}

std::string idleReason(const AttemptReports& facts, std::int64_t rank) {
    const std::string who = facts.ranks > 1 ? strCat("the script of rank", rank) : "the script";
    if (facts.start.resumeStep == 0) {
        return strCat(who,
                      " ended and had not read the run's stream (millrace.stream of the spec that "
                      "was submitted)");
    }
    return strCat(
        who, " ended and had read no batch behind step ", facts.start.resumeStep,
        ", where this attempt went on, although the run's stream is not at its end there");
}

std::string failureReason(const AttemptReports& facts, const engines::State& gang) {
    if (isOfNode(gang)) {
        return gang.reason;
    }
    const std::string name = culprit(facts, gang);
    const auto error = facts.errors.find(name);
    if (error != facts.errors.end()) {
        const bool isNamed = error->second.starts_with(name + " ");
        return isNamed ? error->second : strCat(name, ": ", error->second);
    }
    const engines::WorkerState* worker = findWorker(gang, name);
    if (worker == nullptr) {
        if (!engineReason(gang).empty()) {
            return gang.reason;
        }
        if (const auto idle = idleRank(facts, gang)) {
            return idleReason(facts, *idle);
        }
        return strCat("rank", rankWithoutDone(facts).value_or(0),
                      " ended without saying that it was done");
    }
    std::string reason = describeExit(*worker, facts.isScript);
    if (facts.lastStep > 0) {
        // The run's step is rank 0's: other ranks need not have come as far.
        const bool isOther = worker->rank > 0;
        strAppend(&reason, isOther ? " while rank0 was at step " : " after step ", facts.lastStep);
    }
    // A worker that was killed from outside has not reported why.
    const int code = worker->exitCode.value_or(0);
    const bool isKilled = code == kExitSignal + SIGKILL || code == kExitSignal + SIGTERM;
    const auto words = facts.lastWords.find(name);
    if (!isKilled && words != facts.lastWords.end() && !words->second.empty()) {
        strAppend(&reason, "; its last line: ", words->second);
    }
    const auto engine = facts.engineWords.find(name);
    if (engine != facts.engineWords.end() && !engine->second.empty()) {
        const std::string& all = engine->second;
        strAppend(&reason, "; the engine says: ", all.substr(all.rfind('\n') + 1));
    }
    return reason;
}

// Killed by someone, or for lack of memory: no process ends itself in this way. Shells and
// launchers pass a child's signal on as 128 + n.
bool wasKilledFromOutside(const engines::WorkerState* worker) {
    if (worker == nullptr) {
        return false;
    }
    const int ofCode = worker->exitCode.value_or(0) - kExitSignal;
    const int signal = worker->signal != 0 ? worker->signal : ofCode;
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

// "rank1: ValueError: boom (train.py:6)" -> "ValueError: boom (train.py:6)". If an exception is
// raised in all ranks, any of them may be the first to end.
std::string_view withoutRank(std::string_view reason) {
    constexpr std::string_view kRank = "rank";
    if (!reason.starts_with(kRank)) {
        return reason;
    }
    const std::size_t end = reason.find_first_not_of("0123456789", kRank.size());
    const std::string_view rest = reason.substr(std::min(end, reason.size()));
    return rest.starts_with(": ") ? rest.substr(2) : rest;
}

// The attempt before it failed at this step with the same sentence, whichever rank reported it: the
// next would do so too. If several ranks raise the exception, the step that rank 0 had reported may
// be one less or one more.
bool repeatsFailure(const AttemptReports& facts, const std::string& reason) {
    const AttemptStart& start = facts.start;
    const std::int64_t apart = facts.ranks > 1 ? 1 : 0;
    return !facts.lackedRoom && !start.failure.empty() &&
           withoutRank(start.failure) == withoutRank(reason) &&
           std::abs(facts.lastStep - start.failedStep) <= apart;
}

// No fault of the run, but neither is it tried for ever.
Verdict afterLostNode(const AttemptReports& facts, const std::string& reason) {
    constexpr int kLostMost = 20;
    const bool tookSteps = facts.lastStep > facts.start.resumeStep;
    if (!tookSteps && facts.start.lostAttempts + 1 >= kLostMost) {
        return {Verdict::Kind::kFailed,
                strCat(reason, " (given up after ", kLostMost, " nodes in a row without a step)")};
    }
    return {Verdict::Kind::kRestart, reason, false};
}

Verdict afterFailure(const AttemptReports& facts, const engines::State& gang) {
    if (!facts.cutReason.empty()) {
        return {Verdict::Kind::kFailed,
                strCat(facts.cutReason, " (no restart: it would end the same way)")};
    }
    const std::string reason = failureReason(facts, gang);
    if (failedOnInput(facts, gang) != nullptr || gang.cause == engines::Cause::kRefused ||
        idleRank(facts, gang).has_value()) {
        return {Verdict::Kind::kFailed, reason};
    }
    const bool tookSteps = facts.lastStep > facts.start.resumeStep;
    const engines::WorkerState* worker = findWorker(gang, gang.worker);
    const bool isOfScript = facts.isScript && worker != nullptr && worker->rank >= 0;
    const bool wasKilled =
        facts.stoodStill ||
        (worker != nullptr && (worker->signal != 0 || worker->exitCode > kExitSignal ||
                               (worker->exitCode == kExitResources && !isOfScript)));
    if (facts.maxRestarts == 0) {
        return {Verdict::Kind::kFailed, reason};
    }
    if (gang.cause == engines::Cause::kNodeLost) {
        return afterLostNode(facts, reason);
    }
    if (facts.start.restarts >= facts.maxRestarts) {
        return {Verdict::Kind::kFailed,
                strCat(reason, " (given up after ", facts.start.restarts, " restarts)")};
    }
    const bool isOthersFault = !facts.stoodStill && wasKilledFromOutside(worker);
    const bool mayRepeat = wasKilled && (facts.start.idleAttempts == 0 || !facts.hasStream);
    if (!tookSteps && !isOthersFault && !mayRepeat) {
        return {Verdict::Kind::kFailed, strCat(reason, " (no restart: it got no step further)")};
    }
    if (!wasKilled && repeatsFailure(facts, reason)) {
        return {Verdict::Kind::kFailed,
                strCat(reason, " (no restart: the attempt before failed at step ",
                       facts.start.failedStep, " in the same way)")};
    }
    return {Verdict::Kind::kRestart, reason};
}

// Without a stream a rank is done when its process ends by itself with code 0.
bool hasEndedWell(const engines::State& gang) {
    return gang.cause == engines::Cause::kOk &&
           std::ranges::all_of(gang.workers, [](const engines::WorkerState& worker) {
               return worker.exitCode.value_or(0) == 0;
           });
}

Verdict judgeEnd(const AttemptReports& facts, const engines::State& gang) {
    if (!facts.hasStream && hasEndedWell(gang)) {
        return {Verdict::Kind::kFinished, ""};
    }
    if (!rankWithoutDone(facts).has_value()) {
        const engines::WorkerState* rank0 = findWorker(gang, "rank0");
        const auto leftWell = [&](const engines::WorkerState& worker) {
            return worker.exitCode.value_or(0) == 0 || facts.cutRanks.contains(worker.name);
        };
        const bool endedWell =
            rank0 == nullptr || leftWell(*rank0) || (rank0->isExitAssumed && facts.isDoneKept);
        const bool allEndedWell =
            !facts.isScript ||
            std::all_of(gang.workers.begin(), gang.workers.end(),
                        [&](const auto& worker) { return worker.rank < 0 || leftWell(worker); });
        if (endedWell && allEndedWell && !idleRank(facts, gang).has_value()) {
            return {Verdict::Kind::kFinished, facts.doneReason};
        }
    }
    if (facts.isStopRequested) {
        return {Verdict::Kind::kCancelled, facts.stopReason};
    }
    if (!facts.moveReason.empty()) {
        return {Verdict::Kind::kRestart, facts.moveReason, false};
    }
    return afterFailure(facts, gang);
}

}  // namespace

std::string whyCut(const std::string& stoodStill, const std::string& stopReason,
                   const std::optional<engines::State>& gang) {
    if (!stoodStill.empty()) {
        return stoodStill;
    }
    if (!stopReason.empty()) {
        return strCat("the run was stopped: ", stopReason);
    }
    return gang.has_value() && !gang->reason.empty() ? gang->reason : "the attempt is over";
}

std::string describeExit(const engines::WorkerState& worker, bool isScript) {
    if (!worker.exitCode.has_value()) {
        return worker.name + " did not start";
    }
    const int code = *worker.exitCode;
    const int number = worker.signal != 0 ? worker.signal : std::max(code - kExitSignal, 0);
    const char* name = number > 0 ? ::sigabbrev_np(number) : nullptr;
    if (name != nullptr) {
        return strCat(worker.name, " was ended by SIG", name);
    }
    const bool isOwn = isScript && worker.rank >= 0 && code != kExitShim;
    const std::string_view meaning = isOwn || code == kExitOther ? "" : meaningOf(code);
    return meaning.empty() ? strCat(worker.name, " ended with code ", code)
                           : strCat(worker.name, " ended with code ", code, " (", meaning, ")");
}

std::optional<values::RunState> endOf(Verdict::Kind kind) {
    switch (kind) {
        case Verdict::Kind::kFinished:
            return values::RunState::kFinished;
        case Verdict::Kind::kCancelled:
            return values::RunState::kCancelled;
        case Verdict::Kind::kFailed:
            return values::RunState::kFailed;
        case Verdict::Kind::kRestart:
            break;
    }
    return std::nullopt;
}

Verdict judge(const AttemptReports& facts, const engines::State& gang) {
    const Verdict verdict = judgeEnd(facts, gang);
    if (verdict.isFailure() && facts.lackedRoom && facts.lastStep <= facts.start.resumeStep) {
        return {Verdict::Kind::kRestart,
                verdict.reason + "; the disk was full, so it does not count", false};
    }
    return verdict;
}

}  // namespace millrace::agent

#include "daemon/agent/line_intake.h"

#include <algorithm>
#include <tuple>

#include "backend/checkpoint/checkpoint_name.h"
#include "backend/core/log.h"
#include "backend/text/utf8.h"
#include "daemon/agent/run/rank_listener.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kRetryNs = 1'000'000'000;
// Kept short: when the disk works again, workers have waited long enough, and they hold more lines
// with each step.
constexpr std::int64_t kMostRetryNs = 4 * kRetryNs;
constexpr std::size_t kMostInBatch = 2'000;
constexpr std::size_t kMostTogether = 20'000;  ///< in one transaction
constexpr std::size_t kMostOwn = 60;
// Most lines of a worker that one flush finds by halving. After that a batch that fails is left out
// whole.
constexpr int kMostSingles = 16;
constexpr std::size_t kEntryBytes = 64;  // overhead of a map entry beside its texts
constexpr std::size_t kMostNameShown = 80, kMostLineShown = 200;

runs::ReportedLine metricLine(std::uint64_t seq, const rank::Metrics& metrics) {
    runs::ReportedLine line;
    line.seq = static_cast<std::int64_t>(seq);
    line.step = metrics.step;
    line.epoch = metrics.epoch;
    line.rows = metrics.rows;
    line.timeMs = metrics.timeMs;
    line.values.assign(metrics.values.begin(), metrics.values.end());
    return line;
}

runs::CheckpointRecord checkpointRecord(std::uint64_t seq, int attempt, std::int64_t nowMs,
                                        const rank::Checkpoint& checkpoint) {
    runs::CheckpointRecord record;
    record.attempt = attempt;
    record.seq = static_cast<std::int64_t>(seq);
    record.step = checkpoint.step;
    record.name = checkpoint.name;
    record.bytes = checkpoint.bytes;
    record.hash = checkpoint.hash;
    record.cursor = checkpoint.state;
    record.timeMs = nowMs;
    return record;
}

// The daemon removes files by these names: a worker names its own checkpoints and nothing else.
bool isOwnName(const rank::Checkpoint& checkpoint, int attempt) {
    const auto name = checkpoint::CheckpointName::parse(checkpoint.name);
    return name.has_value() && name->step == checkpoint.step &&
           (name->attempt < 0 || name->attempt == attempt);
}

runs::Progress progressOf(const rank::Progress& progress) {
    return {progress.step,       progress.epoch, progress.rows,
            progress.stepsTotal, progress.phase, progress.times};
}

// Returns the last step that a rank has ended, as its line reports it; 0: it does not. A script
// that ends with an exit code other than 0 in the middle of a step also sends `done`.
std::int64_t endedStepOf(const rank::RankLine& line) {
    const auto* checkpoint = std::get_if<rank::Checkpoint>(&line.body);
    return std::max(line.ended, checkpoint == nullptr ? 0 : checkpoint->step);
}

// True if the run does not exist or its attempt has not begun.
bool isOfTheRun(const Status& status) {
    return absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
}

// True if the lines themselves are wrong: a retry would fail again.
bool isOfTheLines(const Status& status) {
    return isOfTheRun(status) || absl::IsInvalidArgument(status) || absl::IsAlreadyExists(status) ||
           absl::IsDataLoss(status);
}

std::size_t bytesOf(const rank::Values& values) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : values) {
        bytes += key.size() + kEntryBytes;
    }
    return bytes;
}

// True for lines that the agent handles even if the store did not take them: they are not meant for
// the store.
bool isForTheAgent(const rank::Body& body) {
    return std::holds_alternative<rank::Done>(body) ||
           std::holds_alternative<rank::ErrorLine>(body) ||
           std::holds_alternative<rank::ReceiptLine>(body) ||
           std::holds_alternative<rank::Dropped>(body);
}

}  // namespace

std::size_t bytesOf(const rank::RankLine& line) {
    std::size_t bytes = sizeof line;
    if (const auto* metrics = std::get_if<rank::Metrics>(&line.body)) {
        bytes += bytesOf(metrics->values);
    } else if (const auto* checkpoint = std::get_if<rank::Checkpoint>(&line.body)) {
        bytes += checkpoint->name.size() + checkpoint->hash.size() + checkpoint->state.size();
    } else if (const auto* receipt = std::get_if<rank::ReceiptLine>(&line.body)) {
        constexpr std::size_t kTreePerText = 8;
        bytes += dumpJson(receipt->receipt).size() * kTreePerText;
    } else if (const auto* done = std::get_if<rank::Done>(&line.body)) {
        bytes += done->state.size() + bytesOf(done->metrics);
        for (const auto& [key, value] : done->params) {
            bytes += key.size() + value.size() + kEntryBytes;
        }
    } else if (const auto* error = std::get_if<rank::ErrorLine>(&line.body)) {
        bytes += error->message.size();
    } else if (const auto* dropped = std::get_if<rank::Dropped>(&line.body)) {
        bytes += dropped->why.size();
    }
    return bytes;
}

bool LineIntake::add(rank::ConnectionId connection, const rank::Sender& sender, rank::RankLine line,
                     bool hasFile) {
    Run& run = runs_[sender.run];
    run.id = sender.run;
    const WorkerKey key{static_cast<int>(line.attempt), workerNameOf(sender)};
    Worker& worker = run.workers[key];
    worker.doorAttempt = static_cast<int>(sender.attempt);
    worker.connection = connection;
    worker.rank = sender.role == "rank" ? static_cast<int>(sender.rank) : values::kNoRank;
    // The worker sent the line again while it waits here. A line that the store already has is
    // queued: an earlier head may have been killed before it handled the line.
    if (!worker.lines.empty() && line.seq <= worker.lines.back().seq) {
        return true;
    }
    const std::size_t bytes = bytesOf(line);
    const bool isFull = worker.lines.size() >= kMaxPending ||
                        worker.bytes + bytes > kMaxWorkerBytes || bytes_ + bytes > kMaxBytes;
    if (isFull && !worker.lines.empty()) {
        return false;
    }
    if (!hasFile) {
        worker.withoutFile.insert(line.seq);
    }
    worker.lines.push_back(std::move(line));
    worker.bytes += bytes;
    bytes_ += bytes;
    return true;
}

void LineIntake::addOwn(const std::string& runId, int attempt,
                        std::vector<runs::ReportedLine> lines) {
    if (lines.empty()) {
        return;
    }
    Run& run = runs_[runId];
    run.id = runId;
    if (run.ownAttempt != attempt) {
        run.ownAttempt = attempt;
        run.own.clear();
    }
    for (runs::ReportedLine& line : lines) {
        if (run.own.size() >= kMostOwn) {
            run.own.erase(run.own.begin());
        }
        run.own.push_back(std::move(line));
    }
}

bool LineIntake::isEmpty(const std::string& runId) const {
    const auto found = runs_.find(runId);
    if (found == runs_.end()) {
        return true;
    }
    // A single line of the daemon's own waits for other lines.
    const Run& run = found->second;
    return run.own.size() <= 1 &&
           std::all_of(run.workers.begin(), run.workers.end(),
                       [](const auto& worker) { return worker.second.lines.empty(); });
}

bool LineIntake::isEmpty() const {
    return std::all_of(runs_.begin(), runs_.end(),
                       [this](const auto& run) { return isEmpty(run.first); });
}

runs::LineBatch LineIntake::batchOf(const Turn& turn, std::size_t count) const {
    runs::LineBatch batch;
    batch.runId = turn.run.id;
    std::tie(batch.attempt, batch.worker) = turn.key;
    batch.rank = turn.worker.rank;
    const std::int64_t now = clock_.wallMs();
    for (std::size_t i = 0; i < count; ++i) {
        const rank::RankLine& line = turn.worker.lines[i];
        batch.lastSeq = std::max(batch.lastSeq, static_cast<std::int64_t>(line.seq));
        if (const std::int64_t ended = endedStepOf(line); ended > 0) {
            batch.endedStep = std::max(batch.endedStep.value_or(0), ended);
        }
        if (const auto* metrics = std::get_if<rank::Metrics>(&line.body)) {
            batch.metrics.push_back(metricLine(line.seq, *metrics));
        } else if (const auto* checkpoint = std::get_if<rank::Checkpoint>(&line.body)) {
            if (turn.worker.withoutFile.contains(line.seq)) {
                continue;
            }
            if (isOwnName(*checkpoint, batch.attempt)) {
                batch.checkpoints.push_back(
                    checkpointRecord(line.seq, batch.attempt, now, *checkpoint));
            } else {
                logWarn("intake: a checkpoint with a name that is not its own",
                        {{"run", batch.runId}, {"name", checkpoint->name}});
            }
        } else if (const auto* progress = std::get_if<rank::Progress>(&line.body)) {
            // A run's progress is what rank 0 reports.
            batch.progress = batch.rank == 0 ? progressOf(*progress) : batch.progress;
        }
    }
    return batch;
}

// Puts off all lines of this run: the store cannot take them now. Always returns false.
bool LineIntake::waits(Run& run, const Status& status) {
    if (run.trouble.empty()) {
        logError("intake: lines wait", {{"run", run.id}, {"why", messageOf(status)}});
    }
    run.trouble =
        strCat("run store: ", messageOf(status), "; metrics wait and nothing is acknowledged");
    run.backoffNs = std::clamp(run.backoffNs * 2, kRetryNs, kMostRetryNs);
    run.retryAtNs = clock_.steadyNs() + run.backoffNs;
    return false;
}

// The store has the front lines of a worker: removes and acknowledges them.
void LineIntake::take(Turn& turn, std::size_t count, const runs::LineCommit& commit) {
    Run& run = turn.run;
    for (std::size_t i = 0; i < count; ++i) {
        rank::RankLine& line = turn.worker.lines.front();
        const std::size_t bytes = bytesOf(line);
        turn.worker.bytes -= bytes;
        bytes_ -= bytes;
        turn.report.committed.push_back({run.id, turn.key.second, turn.key.first, std::move(line),
                                         commit.hasBegun, commit.hasSettled});
        turn.worker.withoutFile.erase(turn.report.committed.back().line.seq);
        turn.worker.lines.pop_front();
    }
    // Acknowledges no later line, even if the store has it: this head has yet to handle it.
    turn.report.acks.push_back({run.id, turn.worker.doorAttempt, turn.worker.connection,
                                turn.key.first, turn.report.committed.back().line.seq});
    if (!commit.refusedKey.empty() && run.note.empty()) {
        run.note = strCat("metric '", toUtf8(commit.refusedKey, kMostNameShown),
                          "' is not stored: a run has at most ", runs::kMetricKeysMax,
                          " metrics, with names of at most ", runs::kMetricKeyBytesMax, " bytes");
    }
}

// Leaves out the front lines of a worker; the worker need not send them again.
bool LineIntake::leaveOut(Turn& turn, std::size_t count, const Status& why) {
    Run& run = turn.run;
    const auto& [attempt, worker] = turn.key;
    const auto& lines = turn.worker.lines;
    const Status skipped =
        store_.skipLines(run.id, attempt, worker, static_cast<std::int64_t>(lines[count - 1].seq));
    if (!skipped.ok()) {
        return waits(run, skipped);
    }
    logWarn("intake: lines left out",
            {{"run", run.id},
             {"worker", worker},
             {"attempt", attempt},
             {"lines", count},
             {"first", toUtf8(rank::formatLine(lines.front()), kMostLineShown)},
             {"why", messageOf(why)}});
    const std::size_t before = turn.report.committed.size();
    take(turn, count, {});
    auto& committed = turn.report.committed;
    committed.erase(
        std::remove_if(committed.begin() + static_cast<std::ptrdiff_t>(before), committed.end(),
                       [](const CommittedLine& line) { return !isForTheAgent(line.line.body); }),
        committed.end());
    run.note = strCat("lines of its workers could not be stored and are lost (the daemon's log ",
                      "names them): ", messageOf(why));
    return true;
}

// Stores the front `count` lines of a worker. False: the store takes nothing of the run now.
bool LineIntake::flushSome(Turn& turn, std::size_t count, bool withOwn) {
    runs::LineBatch batch = batchOf(turn, count);
    const bool isRiding = withOwn && !turn.run.own.empty() && turn.run.ownAttempt == batch.attempt;
    if (isRiding) {
        batch.own = turn.run.own;
    }
    const Result<runs::LineCommit> commit = store_.commitLines(batch);
    if (commit.ok()) {
        if (isRiding) {
            turn.run.own.clear();
        }
        take(turn, count, *commit);
        return true;
    }
    if (!isOfTheLines(commit.status())) {
        return waits(turn.run, commit.status());
    }
    if (isRiding) {
        return flushSome(turn, count, false);
    }
    // Either each line of the run would fail in the same way, or the budget for halving is spent.
    if (isOfTheRun(commit.status()) || turn.singlesLeft <= 0) {
        return leaveOut(turn, count, commit.status());
    }
    if (count == 1) {
        --turn.singlesLeft;
        return leaveOut(turn, 1, commit.status());
    }
    return flushSome(turn, count / 2, false) && flushSome(turn, count - count / 2, false);
}

bool LineIntake::flushOwn(Run& run) {
    runs::LineBatch batch{run.id, run.ownAttempt, "daemon"};
    batch.own = run.own;
    const Status status = store_.commitLines(batch).status();
    if (!status.ok() && !isOfTheLines(status)) {
        return waits(run, status);
    }
    if (!status.ok()) {
        logWarn("intake: the daemon's own figures refused",
                {{"run", run.id}, {"why", messageOf(status)}});
    }
    run.own.clear();
    return true;
}

// Stores the front lines of all workers in one transaction. If a line among them is wrong it stores
// none; flushSome() then finds that line. False: the store takes nothing of the run now.
bool LineIntake::flushTogether(Run& run, IntakeReport& report) {
    std::vector<Turn> turns;
    std::vector<runs::LineBatch> batches;
    std::vector<std::size_t> counts;
    std::size_t left = kMostTogether;
    bool isRiding = false;
    for (auto& [key, worker] : run.workers) {
        const std::size_t count = std::min({kMostInBatch, worker.lines.size(), left});
        if (count == 0) {
            continue;
        }
        left -= count;
        turns.push_back({run, key, worker, report, kMostSingles});
        counts.push_back(count);
        batches.push_back(batchOf(turns.back(), count));
        if (!isRiding && run.ownAttempt == key.first) {
            batches.back().own = run.own;
            isRiding = true;
        }
    }
    if (turns.size() < 2) {
        return true;
    }
    const auto commits = store_.commitLines(batches);
    if (!commits.ok()) {
        return isOfTheLines(commits.status()) || waits(run, commits.status());
    }
    for (std::size_t i = 0; i < turns.size(); ++i) {
        take(turns[i], counts[i], (*commits)[i]);
    }
    if (isRiding) {
        run.own.clear();
    }
    return true;
}

bool LineIntake::flushRun(Run& run, IntakeReport& report) {
    if (!flushTogether(run, report)) {
        return false;
    }
    for (auto& [key, worker] : run.workers) {
        Turn turn{run, key, worker, report, kMostSingles};
        while (!worker.lines.empty()) {
            if (!flushSome(turn, std::min(kMostInBatch, worker.lines.size()), true)) {
                return false;
            }
        }
    }
    if (run.own.size() <= 1) {
        return true;
    }
    const bool isStored = flushOwn(run);
    report.hasStoredOwn = report.hasStoredOwn || isStored;
    return isStored;
}

IntakeReport LineIntake::flush() {
    IntakeReport report;
    const std::int64_t now = clock_.steadyNs();
    for (auto& [id, run] : runs_) {
        if (now < run.retryAtNs || isEmpty(id)) {
            continue;
        }
        if (flushRun(run, report)) {
            if (!run.trouble.empty()) {
                logInfo("intake: lines are stored again", {{"run", id}});
            }
            run.trouble.clear();
            run.retryAtNs = run.backoffNs = 0;
        }
    }
    return report;
}

std::string LineIntake::trouble() const {
    std::string text;
    int others = 0;
    for (const auto& [id, run] : runs_) {
        if (run.trouble.empty()) {
            continue;
        }
        others += text.empty() ? 0 : 1;
        text = text.empty() ? strCat("run ", id, ": ", run.trouble) : text;
    }
    return others == 0 ? text : strCat(text, " (and ", others, " more runs)");
}

std::string LineIntake::trouble(const std::string& runId) const {
    const auto found = runs_.find(runId);
    if (found == runs_.end()) {
        return "";
    }
    return found->second.trouble.empty() ? found->second.note : found->second.trouble;
}

void LineIntake::forget(const std::string& runId, int attempt,
                        std::vector<runs::ReportedLine> last) {
    addOwn(runId, attempt, std::move(last));
    const auto found = runs_.find(runId);
    if (found == runs_.end()) {
        return;
    }
    if (!found->second.own.empty()) {
        (void)flushOwn(found->second);
    }
    for (const auto& [key, worker] : found->second.workers) {
        bytes_ -= worker.bytes;
    }
    runs_.erase(found);
}

}  // namespace millrace::agent

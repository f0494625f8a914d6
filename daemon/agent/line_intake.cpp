#include "daemon/agent/line_intake.h"

#include "backend/core/log.h"
#include "daemon/agent/worker_door.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kRetryNs = 1'000'000'000;
constexpr std::size_t kMostInBatch = 2'000;
constexpr std::size_t kMostOwn = 60;

runs::MetricLine metricLine(std::uint64_t seq, const rank::Metrics& metrics) {
    runs::MetricLine line;
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
    record.path = checkpoint.path;
    record.bytes = checkpoint.bytes;
    record.hash = checkpoint.hash;
    record.cursor = checkpoint.state;
    record.timeMs = nowMs;
    return record;
}

runs::Progress progressOf(const rank::Progress& progress) {
    return {progress.step, progress.epoch, progress.rows, progress.stepsTotal, progress.phase};
}

// Errors that another try will not cure: the lines are dropped and acknowledged, so that the worker
// can end.
bool isHopeless(const Status& status) {
    return absl::IsNotFound(status) || absl::IsFailedPrecondition(status) ||
           absl::IsInvalidArgument(status);
}

}  // namespace

bool LineIntake::add(rank::ConnectionId connection, const rank::Sender& sender,
                     rank::RankLine line) {
    const int attempt = static_cast<int>(line.attempt);
    const Key key{sender.run, attempt, workerNameOf(sender)};
    auto [found, isNew] = waiting_.try_emplace(key);
    Waiting& waiting = found->second;
    if (isNew) {
        const Result<std::int64_t> acked = store_.ackedSeq(sender.run, attempt, std::get<2>(key));
        waiting.lastSeq = acked.ok() ? static_cast<std::uint64_t>(*acked) : 0;
    }
    waiting.doorAttempt = static_cast<int>(sender.attempt);
    waiting.connection = connection;
    if (line.seq <= waiting.lastSeq && !waiting.lines.empty()) {
        return true;  // sent again while it waits here
    }
    if (waiting.lines.size() >= kMaxPending) {
        return false;
    }
    waiting.lastSeq = std::max(waiting.lastSeq, line.seq);
    waiting.lines.push_back(std::move(line));
    ++numPending_;
    return true;
}

void LineIntake::addOwn(const std::string& runId, int attempt, runs::MetricLine line) {
    Own& own = own_[runId];
    if (own.attempt != attempt) {
        own = {attempt, {}};
    }
    if (own.lines.size() >= kMostOwn) {
        own.lines.erase(own.lines.begin());
    }
    isOwnDue_ = isOwnDue_ || !own.lines.empty();
    own.lines.push_back(std::move(line));
}

runs::LineBatch LineIntake::batchOf(const Key& key, const Waiting& waiting) const {
    runs::LineBatch batch;
    std::tie(batch.runId, batch.attempt, batch.worker) = key;
    const std::int64_t now = clock_.wallMs();
    std::size_t count = 0;
    for (const rank::RankLine& line : waiting.lines) {
        if (++count > kMostInBatch) {
            break;
        }
        batch.lastSeq = std::max(batch.lastSeq, static_cast<std::int64_t>(line.seq));
        if (const auto* metrics = std::get_if<rank::Metrics>(&line.body)) {
            batch.metrics.push_back(metricLine(line.seq, *metrics));
        } else if (const auto* checkpoint = std::get_if<rank::Checkpoint>(&line.body)) {
            batch.checkpoints.push_back(
                checkpointRecord(line.seq, batch.attempt, now, *checkpoint));
        } else if (const auto* progress = std::get_if<rank::Progress>(&line.body)) {
            const bool isFeed = batch.worker == "feed";
            batch.progress = isFeed ? batch.progress : progressOf(*progress);
        }
    }
    return batch;
}

// True: it can only be tried again later.
bool LineIntake::hasFailed(const Status& status, const runs::LineBatch& batch) {
    if (status.ok()) {
        return false;
    }
    if (!isHopeless(status)) {
        trouble_ =
            strCat("run store: ", messageOf(status), "; metrics wait and nothing is acknowledged");
        return true;
    }
    logWarn("intake: lines refused", {{"run", batch.runId},
                                      {"attempt", batch.attempt},
                                      {"worker", batch.worker},
                                      {"why", messageOf(status)}});
    return false;
}

bool LineIntake::flushOwn(const std::string& runId, Own& own) {
    if (own.lines.empty()) {
        return true;
    }
    runs::LineBatch batch{runId, own.attempt, "daemon"};
    batch.own = own.lines;
    if (hasFailed(store_.commitLines(batch).status(), batch)) {
        return false;
    }
    own.lines.clear();
    return true;
}

bool LineIntake::flushOne(const Key& key, Waiting& waiting, IntakeReport& report) {
    runs::LineBatch batch = batchOf(key, waiting);
    const auto own = own_.find(batch.runId);
    const bool isRiding = own != own_.end() && own->second.attempt == batch.attempt;
    if (isRiding) {
        batch.own = own->second.lines;
    }
    const Result<runs::LineCommit> commit = store_.commitLines(batch);
    if (hasFailed(commit.status(), batch)) {
        return false;
    }
    if (isRiding) {
        own->second.lines.clear();
    }
    const std::size_t count = std::min(kMostInBatch, waiting.lines.size());
    for (std::size_t i = 0; i < count; ++i) {
        if (commit.ok()) {
            report.committed.push_back(
                {batch.runId, batch.worker, batch.attempt, std::move(waiting.lines.front())});
        }
        waiting.lines.pop_front();
    }
    numPending_ -= count;
    const std::int64_t acked = commit.ok() ? commit->ackedSeq : batch.lastSeq;
    report.acks.push_back({batch.runId, waiting.doorAttempt, waiting.connection, batch.attempt,
                           static_cast<std::uint64_t>(acked)});
    return true;
}

IntakeReport LineIntake::flush() {
    IntakeReport report;
    const std::int64_t now = clock_.steadyNs();
    if (now < retryAtNs_) {
        return report;
    }
    bool isWell = true;
    for (auto& [key, waiting] : waiting_) {
        while (isWell && !waiting.lines.empty()) {
            isWell = flushOne(key, waiting, report);
        }
    }
    for (auto& [runId, own] : own_) {
        // A single line waits for company.
        if (isWell && own.lines.size() > 1) {
            isWell = flushOwn(runId, own);
        }
    }
    isOwnDue_ = !isWell;
    if (isWell) {
        trouble_.clear();
        retryAtNs_ = 0;
    } else {
        retryAtNs_ = now + kRetryNs;
    }
    return report;
}

void LineIntake::forget(const std::string& runId) {
    if (const auto own = own_.find(runId); own != own_.end()) {
        (void)flushOwn(runId, own->second);
        own_.erase(own);
    }
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        if (std::get<0>(it->first) == runId) {
            numPending_ -= it->second.lines.size();
            it = waiting_.erase(it);
        } else {
            ++it;
        }
    }
}

}  // namespace millrace::agent

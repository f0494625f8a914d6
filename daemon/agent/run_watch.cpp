#include "daemon/agent/run_watch.h"

#include <algorithm>
#include <utility>

#include "backend/text/json.h"

namespace millrace::agent {

namespace {

// Formats the spec's list of paths for people: "a.csv, b.csv". Nearly all runs have one path and no
// list. Those are not parsed, because every row of every list passes through here.
std::string pathsText(const std::string& list) {
    if (!list.starts_with('[')) {
        return list;
    }
    const Result<Json> json = parseJson(list, "dataset");
    if (!json.ok() || !json->is_array()) {
        return list;
    }
    std::string text;
    for (const Json& path : *json) {
        strAppend(&text, text.empty() ? "" : ", ",
                  path.is_string() ? path.get<std::string>() : dumpJson(path));
    }
    return text;
}

}  // namespace

values::RunSummary shownRun(values::RunSummary stored, const values::RunLive& live) {
    values::RunSummary run = std::move(stored);
    run.dataset = pathsText(run.dataset);
    run.queuedReason = live.queuedReason;
    run.trouble = live.trouble;
    run.standsSinceMs = live.standsSinceMs;
    run.progress.epochs = live.epochs;
    if (live.times.has_value()) {
        run.progress.times = live.times;
    }
    run.progress.stallPercentNow = live.stallPercentNow;
    run.progress.stepsPerSecond = live.stepsPerSecond;
    run.progress.timeMs = live.progressMs;
    run.ranks = live.ranks;
    run.handOver = live.handOver;
    return run;
}

Result<values::RunSummary> readSummary(const runs::RunStore& store, const std::string& id) {
    runs::RunQuery query;
    query.filter = strCat("id = '", id, "'");
    query.view = values::RunView::kAll;
    ASSIGN_OR_RETURN(values::RunPage page, store.list(query));
    if (page.runs.empty()) {
        return notFound("no run ", id);
    }
    return std::move(page.runs.front());
}

RunWatch::RunWatch(const runs::RunStore& store, const LiveTable& live,
                   std::vector<std::string> runIds)
    : store_(store), live_(live), ids_(runIds.begin(), runIds.end()) {}

Result<RunChanges> RunWatch::next() {
    if (!isStarted_) {
        return first();
    }
    RunChanges changes;
    const std::uint64_t version = live_.version();
    if (version == version_) {
        return changes;
    }
    version_ = version;
    RETURN_IF_ERROR(addChanged(changes));
    addLive(changes);
    changes.isEnd = !ids_.empty() && ended_.size() == ids_.size();
    return changes;
}

Result<RunChanges> RunWatch::first() {
    isStarted_ = true;
    version_ = live_.version();
    RunChanges changes;
    // The cursor is taken first: a change during the reads is reported twice, never missed.
    ASSIGN_OR_RETURN(cursor_, store_.changeCursor());
    if (ids_.empty()) {
        runs::RunQuery query;
        ASSIGN_OR_RETURN(values::RunPage page, store_.list(query));
        std::reverse(page.runs.begin(), page.runs.end());
        for (values::RunSummary& run : page.runs) {
            show(std::move(run), changes);
        }
    }
    for (const std::string& id : ids_) {
        ASSIGN_OR_RETURN(values::RunSummary run, readSummary(store_, id));
        show(std::move(run), changes);
    }
    changes.isSnapshotEnd = true;
    changes.isEnd = !ids_.empty() && ended_.size() == ids_.size();
    return changes;
}

void RunWatch::show(values::RunSummary stored, RunChanges& changes) {
    const values::RunLive live = live_.get(stored.id);
    if (values::isEnded(stored.state)) {
        ended_.insert(stored.id);
        shown_.erase(stored.id);
    } else {
        ended_.erase(stored.id);
        shown_[stored.id] = live;
    }
    changes.runs.push_back(shownRun(std::move(stored), live));
}

Status RunWatch::addChanged(RunChanges& changes) {
    runs::RunQuery query;
    query.changedSince = cursor_;
    std::int64_t next = -1;
    do {
        ASSIGN_OR_RETURN(values::RunPage page, store_.list(query));
        // Keeps the first page's cursor, so that changes between pages are reported again.
        next = next < 0 ? static_cast<std::int64_t>(page.revision) : next;
        for (values::RunSummary& run : page.runs) {
            if (isWanted(run.id)) {
                show(std::move(run), changes);
            }
        }
        query.pageToken = page.nextPageToken;
    } while (!query.pageToken.empty());
    cursor_ = next;
    return okStatus();
}

// Adds runs with an unchanged record about which the daemon knows something new.
void RunWatch::addLive(RunChanges& changes) {
    std::set<std::string> told;
    for (const values::RunSummary& run : changes.runs) {
        told.insert(run.id);
    }
    std::vector<std::string> stale;
    for (const auto& [id, live] : shown_) {
        if (!told.contains(id) && !(live_.get(id) == live)) {
            stale.push_back(id);
        }
    }
    for (const std::string& id : stale) {
        Result<values::RunSummary> run = readSummary(store_, id);
        if (run.ok()) {
            show(std::move(*run), changes);
        }
    }
}

MetricFollower::MetricFollower(const runs::RunMetrics& store, std::string runId,
                               values::MetricsRequest request)
    : store_(store),
      runId_(std::move(runId)),
      names_(request.names.begin(), request.names.end()),
      fromStep_(request.fromStep),
      withSystem_(request.withSystem),
      rank_(request.rank),
      cursor_(request.after) {}

bool MetricFollower::isWanted(const std::string& name) const {
    return names_.empty() ? withSystem_ || !values::isSystemMetric(name) : names_.contains(name);
}

Result<values::MetricChunk> MetricFollower::next(std::size_t most) {
    ASSIGN_OR_RETURN(runs::MetricLines stored, store_.metricLines(runId_, cursor_, most, rank_));
    RETURN_IF_ERROR(learnNames(stored.lines));
    values::MetricChunk chunk;
    for (values::MetricLine& line : stored.lines) {
        if (line.step >= fromStep_) {
            keepWanted(line, chunk);
        }
    }
    cursor_ = chunk.cursor = stored.cursor;
    chunk.replacesAfterStep = stored.replacesAfterStep;
    chunk.isCaughtUp = !stored.isMore;
    // The store has all lines of a run before it has the run's end.
    chunk.isEnd = stored.hasEnded && !stored.isMore;
    return chunk;
}

Status MetricFollower::learnNames(const std::vector<values::MetricLine>& lines) {
    std::vector<std::uint32_t> unknown;
    for (const values::MetricLine& line : lines) {
        for (const values::MetricValue& value : line.values) {
            if (keys_.try_emplace(value.key).second) {
                unknown.push_back(value.key);
            }
        }
    }
    if (unknown.empty()) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(values::MetricNames names, store_.metricNames(unknown));
    for (auto& [number, name] : names) {
        const bool isWantedOne = isWanted(name);
        keys_[number] = {std::move(name), isWantedOne, false};
    }
    return okStatus();
}

void MetricFollower::keepWanted(values::MetricLine& line, values::MetricChunk& chunk) {
    std::erase_if(line.values, [this](const auto& value) { return !keys_.at(value.key).isWanted; });
    if (line.values.empty()) {
        return;
    }
    for (const values::MetricValue& value : line.values) {
        Key& key = keys_.at(value.key);
        if (!std::exchange(key.isTold, true)) {
            chunk.names[value.key] = key.name;
        }
    }
    chunk.lines.push_back(std::move(line));
}

}  // namespace millrace::agent

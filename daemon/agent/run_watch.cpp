#include "daemon/agent/run_watch.h"

#include <algorithm>

namespace millrace::agent {

Result<runs::RunRecord> readSummary(const runs::RunStore& store, const std::string& id) {
    runs::RunQuery query;
    query.filter = strCat("id = '", id, "'");
    query.view = runs::RunQuery::View::kAll;
    ASSIGN_OR_RETURN(runs::RunPage page, store.list(query));
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
    // The cursor is taken first: what changes while this reads is told twice, never missed.
    ASSIGN_OR_RETURN(cursor_, store_.changeCursor());
    if (ids_.empty()) {
        runs::RunQuery query;
        ASSIGN_OR_RETURN(runs::RunPage page, store_.list(query));
        std::reverse(page.runs.begin(), page.runs.end());
        for (runs::RunRecord& run : page.runs) {
            show(std::move(run), changes);
        }
    }
    for (const std::string& id : ids_) {
        ASSIGN_OR_RETURN(runs::RunRecord run, readSummary(store_, id));
        show(std::move(run), changes);
    }
    changes.isSnapshotEnd = true;
    changes.isEnd = !ids_.empty() && ended_.size() == ids_.size();
    return changes;
}

void RunWatch::show(runs::RunRecord record, RunChanges& changes) {
    const std::string id = record.id;
    if (runs::isTerminal(record.state)) {
        ended_.insert(id);
        shown_.erase(id);
    } else {
        ended_.erase(id);
        shown_[id] = live_.get(id);
    }
    changes.runs.push_back({std::move(record), live_.get(id)});
}

Status RunWatch::addChanged(RunChanges& changes) {
    runs::RunQuery query;
    query.changedSince = cursor_;
    std::int64_t next = -1;
    do {
        ASSIGN_OR_RETURN(runs::RunPage page, store_.list(query));
        // The first page's cursor counts: what changes between pages comes again.
        next = next < 0 ? page.changeCursor : next;
        for (runs::RunRecord& run : page.runs) {
            if (isWanted(run.id)) {
                show(std::move(run), changes);
            }
        }
        query.pageToken = page.nextPageToken;
    } while (!query.pageToken.empty());
    cursor_ = next;
    return okStatus();
}

// Runs whose record is as before but of which the daemon knows something new.
void RunWatch::addLive(RunChanges& changes) {
    std::set<std::string> told;
    for (const RunView& view : changes.runs) {
        told.insert(view.record.id);
    }
    std::vector<std::string> stale;
    for (const auto& [id, live] : shown_) {
        if (!told.contains(id) && !(live_.get(id) == live)) {
            stale.push_back(id);
        }
    }
    for (const std::string& id : stale) {
        Result<runs::RunRecord> run = readSummary(store_, id);
        if (run.ok()) {
            show(std::move(*run), changes);
        }
    }
}

MetricFollower::MetricFollower(const runs::RunStore& store, std::string runId,
                               std::vector<std::string> names, std::int64_t fromStep)
    : store_(store),
      runId_(std::move(runId)),
      names_(names.begin(), names.end()),
      fromStep_(fromStep) {}

Result<MetricChanges> MetricFollower::next(std::size_t most) {
    MetricChanges changes;
    // The state is read before the points: an ended run's points are all there then.
    ASSIGN_OR_RETURN(const runs::RunRecord run, readSummary(store_, runId_));
    RETURN_IF_ERROR(noticeAttempt(run, changes));
    ASSIGN_OR_RETURN(const std::vector<std::string> names, store_.metricKeys(runId_));
    for (const std::string& name : names) {
        if (names_.empty() || names_.contains(name)) {
            RETURN_IF_ERROR(addNew(name, most, changes));
        }
    }
    std::stable_sort(
        changes.points.begin(), changes.points.end(),
        [](const MetricValue& a, const MetricValue& b) { return a.point.step < b.point.step; });
    changes.isEnd = changes.points.empty() && runs::isTerminal(run.state);
    return changes;
}

// After a restart the store hides what the old attempt wrote after the step the new one began at:
// everything that was sent beyond what is visible now is void.
Status MetricFollower::noticeAttempt(const runs::RunRecord& run, MetricChanges& changes) {
    if (attempt_ == run.attempt) {
        return okStatus();
    }
    const bool isFirst = attempt_ == 0;
    attempt_ = run.attempt;
    if (isFirst) {
        return okStatus();
    }
    std::int64_t keep = INT64_MAX;
    for (auto& [name, step] : sentTo_) {
        ASSIGN_OR_RETURN(const runs::MetricSeries visible,
                         store_.metrics(runId_, name, {0, INT64_MAX, 0}));
        std::int64_t common = 0;
        for (const runs::MetricPoint& point : visible.points) {
            common = point.attempt < attempt_ ? std::max(common, point.step) : common;
        }
        keep = std::min(keep, std::min(step, common));
    }
    for (auto& [name, step] : sentTo_) {
        step = std::min(step, keep);
    }
    changes.replacesAfterStep = keep == INT64_MAX ? 0 : keep;
    return okStatus();
}

Status MetricFollower::addNew(const std::string& name, std::size_t most, MetricChanges& changes) {
    const auto sent = sentTo_.find(name);
    const std::int64_t from = sent == sentTo_.end() ? fromStep_ : sent->second + 1;
    // All from there on (0: no thinning out); what is more than `most` waits for the next call.
    ASSIGN_OR_RETURN(const runs::MetricSeries series,
                     store_.metrics(runId_, name, {from, INT64_MAX, 0}));
    std::size_t count = 0;
    for (const runs::MetricPoint& point : series.points) {
        if (++count > most) {
            break;
        }
        changes.points.push_back({name, point});
        sentTo_[name] = point.step;
    }
    return okStatus();
}

}  // namespace millrace::agent

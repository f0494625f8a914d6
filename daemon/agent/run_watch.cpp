#include "daemon/agent/run_watch.h"

#include <algorithm>

#include "backend/core/json.h"

namespace millrace::agent {

namespace {

// The spec's list of paths, as people write it: "a.csv, b.csv".
std::string pathsText(const std::string& list) {
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

values::RunSummary shownRun(runs::RunSummary stored, const LiveRun& live) {
    values::RunSummary run = std::move(stored);
    run.dataset = pathsText(run.dataset);
    run.queuedReason = live.queuedReason;
    run.trouble = live.trouble;
    run.standsSinceMs = live.standsSinceMs;
    run.progress.epochs = live.epochs;
    run.progress.busyMs = live.busyMs;
    run.progress.stallMs = live.stallMs;
    run.progress.timeMs = live.progressMs;
    return run;
}

Result<runs::RunSummary> readSummary(const runs::RunStore& store, const std::string& id) {
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
        for (runs::RunSummary& run : page.runs) {
            show(std::move(run), changes);
        }
    }
    for (const std::string& id : ids_) {
        ASSIGN_OR_RETURN(runs::RunSummary run, readSummary(store_, id));
        show(std::move(run), changes);
    }
    changes.isSnapshotEnd = true;
    changes.isEnd = !ids_.empty() && ended_.size() == ids_.size();
    return changes;
}

void RunWatch::show(runs::RunSummary stored, RunChanges& changes) {
    const LiveRun live = live_.get(stored.id);
    if (runs::isEnded(stored.state)) {
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
        ASSIGN_OR_RETURN(runs::RunPage page, store_.list(query));
        // The first page's cursor counts: what changes between pages comes again.
        next = next < 0 ? static_cast<std::int64_t>(page.revision) : next;
        for (runs::RunSummary& run : page.runs) {
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
        Result<runs::RunSummary> run = readSummary(store_, id);
        if (run.ok()) {
            show(std::move(*run), changes);
        }
    }
}

MetricFollower::MetricFollower(const runs::RunStore& store, std::string runId, MetricWish wish)
    : store_(store),
      runId_(std::move(runId)),
      names_(wish.names.begin(), wish.names.end()),
      fromStep_(wish.fromStep),
      withSystem_(wish.withSystem) {}

bool MetricFollower::isWanted(const std::string& name) const {
    return names_.empty() ? withSystem_ || !runs::isSystemMetric(name) : names_.contains(name);
}

Result<MetricChanges> MetricFollower::next(std::size_t most) {
    MetricChanges changes;
    // The state is read before the points: an ended run's points are all there then.
    ASSIGN_OR_RETURN(const runs::RunSummary run, readSummary(store_, runId_));
    RETURN_IF_ERROR(noticeAttempt(run, changes));
    if (run.revision != readRevision_) {
        readRevision_ = run.revision;
        RETURN_IF_ERROR(addNew(most, changes));
    }
    std::stable_sort(
        changes.points.begin(), changes.points.end(),
        [](const MetricValue& a, const MetricValue& b) { return a.point.step < b.point.step; });
    changes.isEnd = changes.points.empty() && runs::isTerminal(run.state);
    return changes;
}

// Once a newer attempt begins, the store drops what older ones wrote after the step it goes on from:
// what was sent of it is void.
Status MetricFollower::noticeAttempt(const runs::RunSummary& run, MetricChanges& changes) {
    const int before = attempt_;
    if (before == run.attempt) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<runs::AttemptRecord> attempts, store_.attempts(runId_));
    for (const runs::AttemptRecord& one : attempts) {
        attempt_ = one.hasBegun ? one.attempt : attempt_;
    }
    if (before == 0 || before == attempt_) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const std::optional<std::int64_t> resumed, store_.resumedFrom(runId_, before));
    const std::int64_t keep = resumed.value_or(0);
    for (auto& [name, sent] : sent_) {
        if (sent.step > keep) {
            sent = {keep, before, INT64_MAX};
        }
    }
    changes.replacesAfterStep = keep;
    return okStatus();
}

Status MetricFollower::addNew(std::size_t most, MetricChanges& changes) {
    constexpr std::int64_t kMostAtOneStep = 10'000;
    ASSIGN_OR_RETURN(const std::vector<std::string> names, store_.metricKeys(runId_));
    std::vector<runs::MetricRequest> requests;
    for (const std::string& name : names) {
        if (!isWanted(name)) {
            continue;
        }
        const auto sent = sent_.find(name);
        // No thinning out; what is more than `most` waits for the next call.
        runs::MetricRange range{fromStep_, INT64_MAX, 0, static_cast<int>(most) + 1};
        if (sent != sent_.end()) {
            range.fromStep = sent->second.step;
            range.firstPoints += static_cast<int>(std::min(sent->second.count, kMostAtOneStep));
        }
        requests.push_back({name, range});
    }
    ASSIGN_OR_RETURN(const std::vector<runs::MetricSeries> all, store_.metrics(runId_, requests));
    for (const runs::MetricSeries& series : all) {
        if (!addSeries(series, most, changes)) {
            readRevision_.reset();
        }
    }
    return okStatus();
}

// False: there is more than `most`.
bool MetricFollower::addSeries(const runs::MetricSeries& series, std::size_t most,
                               MetricChanges& changes) {
    const auto known = sent_.find(series.key);
    const Sent before = known == sent_.end() ? Sent{INT64_MIN, 0, 0} : known->second;
    std::int64_t toSkip = before.count;
    std::size_t count = 0;
    for (const runs::MetricPoint& point : series.points) {
        if (point.step == before.step && point.attempt <= before.attempt) {
            const bool isOlder = point.attempt < before.attempt;
            if (isOlder || toSkip-- > 0) {
                continue;
            }
        }
        if (count++ == most) {
            return false;
        }
        Sent& sent = sent_[series.key];
        const bool isSame = sent.step == point.step && sent.attempt == point.attempt;
        sent = {point.step, point.attempt, isSame ? sent.count + 1 : 1};
        changes.points.push_back({series.key, point});
    }
    return true;
}

}  // namespace millrace::agent

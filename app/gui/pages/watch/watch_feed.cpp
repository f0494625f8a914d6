#include "app/gui/pages/watch/watch_feed.h"

#include <algorithm>
#include <utility>

#include "app/gui/models/runs/metric_facts.h"

namespace millrace::gui {
namespace {

constexpr int kLogTail = 5'000;
constexpr int kDetailMs = 150;
constexpr int kStripPoints = 2'000;
constexpr int kRanksApart = 16;  // with more ranks the store has only their extremes and medians
constexpr int kPointsMin = 800, kPointsMax = 8'000;

// Its points carry the number of ranks, as the input stall of scripts does.
constexpr char kOfRanks[] = "system.rank.cpu_percent";

std::vector<std::string> stripNames() {
    std::vector<std::string> names(metric::kSystemTimes.begin(), metric::kSystemTimes.end());
    names.emplace_back(metric::kSystemStandingMs);
    return names;
}

}  // namespace

WatchFeed::WatchFeed(DaemonBridge& daemon, QObject* parent)
    : QObject(parent), daemon_(daemon), log_(this) {
    detailTimer_.setSingleShot(true);
    detailTimer_.setInterval(kDetailMs);
    connect(&detailTimer_, &QTimer::timeout, this, [this] {
        for (auto& [run, shown] : shown_) {
            askDetail(run, *shown);
        }
    });
    connect(&daemon, &DaemonBridge::switched, this, &WatchFeed::clear);
    connect(&daemon, &DaemonBridge::linkChanged, this, &WatchFeed::linkChanged);
}

WatchFeed::~WatchFeed() = default;

void WatchFeed::clear() {
    shown_.clear();
    strips_.clear();
    logFollowing_.reset();
    logRun_.clear();
    log_.clear();
    Q_EMIT curvesChanged();
}

void WatchFeed::linkChanged() {
    if (daemon_.link().state != session::LinkState::kConnected) {
        return;
    }
    for (const auto& [run, shown] : shown_) {
        if (!shown->series.hasHistory() && !shown->isAsking) {
            askHistory(run);
        }
    }
    for (const auto& [run, strip] : strips_) {
        if (strip == Strip::kWanted) {
            askStrip(run);
        }
    }
}

void WatchFeed::showStrips(const std::vector<std::string>& runs) {
    const std::set<std::string> wanted(runs.begin(), runs.end());
    std::erase_if(strips_, [&](const auto& entry) { return !wanted.contains(entry.first); });
    for (const std::string& run : runs) {
        // The full history of a shown run includes its strip's.
        if (!shown_.contains(run) && strips_.emplace(run, Strip::kWanted).second) {
            askStrip(run);
        }
    }
}

void WatchFeed::askStrip(const std::string& run) {
    strips_[run] = Strip::kAsked;
    values::MetricRangeRequest request;
    request.run = run;
    request.names = stripNames();
    request.names.insert(request.names.end(), {metric::kInputStallPercent, kOfRanks});
    request.maxPoints = kStripPoints;
    daemon_.metricRange(
        request, this,
        [this, run](Result<values::MetricHistory> history) {
            const auto strip = strips_.find(run);
            if (strip == strips_.end()) {
                return;
            }
            const bool isAway = !history.ok() && absl::IsUnavailable(history.status());
            strip->second = isAway ? Strip::kWanted : Strip::kRead;
            if (history.ok()) {
                Q_EMIT historyRead(run, *history);
            }
        },
        "watch-strip-" + run);
}

void WatchFeed::askRanks(const std::string& run, int numRanks) {
    for (int rank = 0; rank < numRanks && numRanks <= kRanksApart; ++rank) {
        values::MetricRangeRequest request;
        request.run = run;
        request.names = stripNames();
        request.maxPoints = kStripPoints;
        request.rank = rank;
        daemon_.metricRange(
            request, this,
            [this, run, rank](Result<values::MetricHistory> history) {
                if (history.ok()) {
                    Q_EMIT rankRead(run, rank, *history);
                }
            },
            "watch-rank-" + run + "-" + std::to_string(rank));
    }
}

void WatchFeed::show(const std::vector<std::string>& runs) {
    const std::set<std::string> wanted(runs.begin(), runs.end());
    bool isChanged =
        std::erase_if(shown_, [&](const auto& entry) { return !wanted.contains(entry.first); }) > 0;
    for (const std::string& run : runs) {
        if (!shown_.contains(run)) {
            shown_[run] = std::make_unique<Shown>();
            askHistory(run);
            isChanged = true;
        }
    }
    if (isChanged) {
        Q_EMIT curvesChanged();
    }
}

WatchSeries* WatchFeed::series(const std::string& run) const {
    const auto found = shown_.find(run);
    return found == shown_.end() ? nullptr : &found->second->series;
}

void WatchFeed::setPixelWidth(int pixels) {
    maxPoints_ = std::clamp(2 * pixels, kPointsMin, kPointsMax);
}

void WatchFeed::noteRun(const values::RunSummary& run) {
    const auto found = shown_.find(run.id);
    if (found == shown_.end()) {
        return;
    }
    Shown& shown = *found->second;
    shown.startedMs = run.startedMs;
    const bool isNew = shown.attempt > 0 && run.attempt > shown.attempt;
    shown.attempt = std::max(shown.attempt, run.attempt);
    if (isNew) {
        askHistory(run.id);
    }
}

void WatchFeed::askHistory(const std::string& run) {
    shown_[run]->isAsking = true;
    values::MetricRangeRequest request;
    request.run = run;
    request.maxPoints = maxPoints_;
    request.withSystem = true;
    daemon_.metricRange(
        request, this,
        [this, run](Result<values::MetricHistory> history) {
            takeHistory(run, std::move(history));
        },
        "watch-history-" + run);
}

void WatchFeed::takeHistory(const std::string& run, Result<values::MetricHistory> history) {
    const auto found = shown_.find(run);
    if (found == shown_.end()) {
        return;
    }
    found->second->isAsking = false;
    if (!history.ok()) {
        // Unreachable: retried when the daemon is back. A retry does not fix other errors: live
        // data is shown.
        if (!absl::IsUnavailable(history.status())) {
            found->second->series.setHistory({});
            follow(run);
        }
        return;
    }
    found->second->following.reset();
    found->second->series.clear();
    found->second->series.setHistory(*history);
    follow(run);
    strips_[run] = Strip::kRead;
    Q_EMIT historyRead(run, *history);
    Q_EMIT curvesChanged();
}

void WatchFeed::follow(const std::string& run) {
    Shown& shown = *shown_[run];
    shown.following = daemon_.followMetrics(
        {run},
        [this](const std::string& id, const MetricsDelta& delta) {
            const auto found = shown_.find(id);
            if (found == shown_.end()) {
                return;
            }
            Shown& target = *found->second;
            for (const values::MetricLine& line : delta.lines) {
                target.lastStep = std::max(target.lastStep, line.step);
            }
            const values::MetricNames none;
            const bool isNew = target.series.apply(delta.dropAfterStep, delta.lines,
                                                   delta.names ? *delta.names : none);
            if (isNew || delta.dropAfterStep) {
                Q_EMIT curvesChanged();
            } else if (!delta.lines.empty()) {
                Q_EMIT pointsAdded(id);
            }
        },
        {{run, shown.series.followFrom()}});
}

void WatchFeed::detail(const std::set<std::string>& names, XAxis axis, CurveRange view) {
    detailNames_ = names;
    detailAxis_ = axis;
    detailView_ = view;
    detailTimer_.start();
}

void WatchFeed::askDetail(const std::string& run, Shown& shown) {
    if (detailView_.isEmpty() || !shown.series.hasHistory()) {
        return;
    }
    const double shift =
        detailAxis_ == XAxis::kRelativeTime ? static_cast<double>(shown.startedMs) : 0;
    const auto steps = shown.series.stepsIn(detailNames_, columnOf(detailAxis_),
                                            detailView_.low + shift, detailView_.high + shift);
    if (!steps) {
        return;
    }
    values::MetricRangeRequest request;
    request.run = run;
    request.fromStep = std::max<std::int64_t>(1, steps->from);
    request.toStep = steps->to;
    request.maxPoints = maxPoints_;
    for (const std::string& name : detailNames_) {
        if (shown.series.wantsDetail(name, request.fromStep, request.toStep)) {
            request.names.push_back(name);
        }
    }
    const std::pair asked(request.fromStep, request.toStep);
    if (request.names.empty() || asked == shown.asked || request.toStep < request.fromStep) {
        return;
    }
    shown.asked = asked;
    daemon_.metricRange(
        request, this,
        [this, run, asked](Result<values::MetricHistory> finer) {
            WatchSeries* const target = series(run);
            if (target != nullptr && finer.ok()) {
                target->refine(*finer, asked.first, asked.second);
                Q_EMIT curvesChanged();
            }
        },
        "watch-detail-" + run);
}

void WatchFeed::showLog(const std::string& run) {
    if (run == logRun_) {
        return;
    }
    logRun_ = run;
    logFollowing_.reset();
    log_.clear();
    if (run.empty()) {
        return;
    }
    logFollowing_ = daemon_.followLogs(run, kLogTail, [this](const LogsDelta& delta) {
        log_.append(delta.lines, delta.droppedLines);
    });
}

void WatchFeed::addSample(const values::NodeSample& sample) {
    bool isNew = false;
    std::set<std::string> touched;
    std::map<std::string, int> numRanks;  // by run
    for (const values::ProcessSample& process : sample.processes) {
        numRanks[process.runId] += process.worker.starts_with("rank") ? 1 : 0;
    }
    for (const values::ProcessSample& process : sample.processes) {
        const auto found = shown_.find(process.runId);
        if (found == shown_.end() || !process.cpuPercent || !found->second->series.hasHistory()) {
            continue;
        }
        Shown& shown = *found->second;
        const bool isRank = process.worker.starts_with("rank");
        // The daemon summarises the values of several ranks: they arrive with the run's own lines.
        if (isRank && numRanks[process.runId] > 1) {
            continue;
        }
        const std::string name =
            isRank ? "system.rank.cpu_percent" : "system." + process.worker + ".cpu_percent";
        isNew |= shown.series.addSample(name, shown.lastStep, sample.timeMs, *process.cpuPercent);
        touched.insert(process.runId);
    }
    if (isNew) {
        Q_EMIT curvesChanged();
    }
    for (const std::string& run : touched) {
        Q_EMIT pointsAdded(run);
    }
}

bool WatchFeed::isSettled() const {
    const bool isAsking =
        std::ranges::any_of(shown_, [](const auto& entry) { return entry.second->isAsking; });
    const bool isStripAsked = std::ranges::any_of(
        strips_, [](const auto& entry) { return entry.second == Strip::kAsked; });
    return !isAsking && !isStripAsked && !detailTimer_.isActive() && !log_.isFiltering();
}

std::vector<std::string> WatchFeed::metricNames() const {
    std::set<std::string> names;
    for (const auto& [run, shown] : shown_) {
        for (const std::string& name : shown->series.names()) {
            names.insert(name);
        }
    }
    return {names.begin(), names.end()};
}

}  // namespace millrace::gui

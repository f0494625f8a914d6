#include "app/gui/pages/runs/trend_fetcher.h"

#include <algorithm>
#include <cmath>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/runs/run_rows.h"

namespace millrace::gui {
namespace {

constexpr std::size_t kMostInFlight = 6;
constexpr std::size_t kMostQueued = 20'000;
constexpr qint64 kAgainMs = 4'000;  ///< for an active run
constexpr int kLookMs = 40;

}  // namespace

TrendFetcher::TrendFetcher(DaemonBridge& daemon, RunRows& rows, RunTrends& trends, QObject* parent)
    : QObject(parent), daemon_(daemon), rows_(rows), trends_(trends) {
    timer_.setSingleShot(true);
    timer_.setInterval(kLookMs);
    clock_.start();
    connect(&timer_, &QTimer::timeout, this, [this] { fill(); });
}

void TrendFetcher::look(int firstRow, int lastRow) {
    firstRow_ = firstRow;
    lastRow_ = lastRow;
    if (!timer_.isActive()) {
        timer_.start();
    }
}

void TrendFetcher::clear() {
    ++epoch_;
    queue_.clear();
    inFlight_.clear();
    askedMs_.clear();
}

// The metrics whose series a run's cells show.
std::vector<std::string> TrendFetcher::metricsOf(const values::RunSummary& run) const {
    std::set<std::string> names;
    for (const QString& key : rows_.columnKeys()) {
        const RunColumnInfo facts = factsOf(key);
        const bool isFetched =
            facts.source == RunColumnSource::kTrend || facts.source == RunColumnSource::kLow ||
            facts.source == RunColumnSource::kHigh ||
            (facts.source == RunColumnSource::kBest && run.best(facts.name) == nullptr);
        if (isFetched) {
            names.insert(facts.name);
        }
    }
    return {names.begin(), names.end()};
}

bool TrendFetcher::isWanted(int row, const std::string& metric) const {
    const values::RunSummary& run = rows_.table().run(row);
    if (run.startedMs == 0 || !trends_.isStale(run, metric)) {
        return false;
    }
    const auto asked = askedMs_.find(run.id);
    return asked == askedMs_.end() || values::isEnded(run.state) ||
           clock_.elapsed() - asked->second >= kAgainMs;
}

void TrendFetcher::fillRow(int row) {
    const values::RunSummary& run = rows_.table().run(row);
    const std::vector<std::string> metrics = metricsOf(run);
    const std::string& id = run.id;
    const bool isMissing =
        std::ranges::any_of(metrics, [&](const auto& metric) { return isWanted(row, metric); });
    if (isMissing && inFlight_.count(id) == 0) {
        queue_.push_back(id);
    }
}

// If sorted by a best value, runs that were never visible need theirs too.
void TrendFetcher::fillUnseen() {
    const RunColumnInfo sorted = factsOf(rows_.sortKey());
    const bool isFetched = sorted.source == RunColumnSource::kBest ||
                           sorted.source == RunColumnSource::kLow ||
                           sorted.source == RunColumnSource::kHigh;
    for (int row = 0; isFetched && row < rows_.table().numRuns(); ++row) {
        const values::RunSummary& run = rows_.table().run(row);
        const bool isTold =
            sorted.source == RunColumnSource::kBest && run.best(sorted.name) != nullptr;
        if (run.startedMs > 0 && run.metric(sorted.name) && !isTold &&
            queue_.size() < kMostQueued && !rows_.table().hasExtremes(row, sorted.name) &&
            askedMs_.count(run.id) == 0) {
            queue_.push_back(run.id);
        }
    }
}

void TrendFetcher::fill() {
    queue_.clear();
    fillUnseen();
    for (int row = std::min(lastRow_, rows_.rowCount() - 1); row >= firstRow_; --row) {
        fillRow(rows_.sourceRow(row));
    }
    send();
}

void TrendFetcher::send() {
    while (!queue_.empty() && inFlight_.size() < kMostInFlight) {
        const std::string run = queue_.back();
        queue_.pop_back();
        if (inFlight_.count(run) == 0) {
            ask(run);
        }
    }
}

void TrendFetcher::ask(const std::string& run) {
    const values::RunSummary* summary = rows_.table().find(run);
    const std::vector<std::string> metrics =
        summary == nullptr ? std::vector<std::string>() : metricsOf(*summary);
    if (metrics.empty()) {
        return;
    }
    inFlight_.insert(run);
    askedMs_[run] = clock_.elapsed();
    RunTrend stamp;
    stamp.step = summary->progress.step;
    stamp.attempt = summary->attempt;
    stamp.hasEnded = values::isEnded(summary->state);
    values::MetricRangeRequest request;
    request.run = run;
    request.names = metrics;
    request.maxPoints = RunTrends::kPoints;
    daemon_.metricRange(
        std::move(request), this,
        [this, run, metrics, stamp, epoch = epoch_](Result<values::MetricHistory> reply) {
            if (epoch != epoch_) {
                return;
            }
            inFlight_.erase(run);
            if (reply.ok()) {
                for (const std::string& metric : metrics) {
                    put(run, metric, stamp, *reply);
                }
            }
            rows_.announceTrend(run);
            send();
        });
}

void TrendFetcher::put(const std::string& run, const std::string& metric, RunTrend trend,
                       const values::MetricHistory& history) {
    for (const values::MetricSeries& series : history.series) {
        if (series.key != metric) {
            continue;
        }
        double low = kNoNumber, high = kNoNumber;
        for (const values::MetricPoint& point : series.points) {
            trend.values.push_back(point.value);
            low = std::fmin(low, point.value);
            high = std::fmax(high, point.value);
        }
        rows_.table().setExtremes(run, metric, low, high);
    }
    trends_.put(run, metric, std::move(trend));
}

}  // namespace millrace::gui

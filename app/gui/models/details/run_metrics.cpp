#include "app/gui/models/details/run_metrics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/models/runs/run_column.h"

namespace millrace::gui {
namespace {

constexpr FlatTable::ColumnSpec kMetricColumns[] = {
    {word::kMetric.label},
    {QT_TRANSLATE_NOOP("FlatTable", "Over steps")},
    {word::kNewest.label, Qt::AlignRight},
    {word::kBest.label, Qt::AlignRight},
    {QT_TRANSLATE_NOOP("FlatTable", "Lowest"), Qt::AlignRight},
    {QT_TRANSLATE_NOOP("FlatTable", "Highest"), Qt::AlignRight}};
static_assert(std::size(kMetricColumns) == RunMetrics::kNumColumns);

}  // namespace

RunMetrics::RunMetrics(QObject* parent) : FlatTable(kMetricColumns, parent) {}

void RunMetrics::setRun(const values::RunSummary& run, const std::vector<std::string>& names) {
    std::set<std::string> all(names.begin(), names.end());
    for (const values::RunFigure& point : run.latestMetrics) {
        all.insert(point.name);
    }
    const std::vector<std::string> ordered = session::inUsualOrder({all.begin(), all.end()});
    const bool isSame = run.id == runId_ && ordered == this->names();
    if (!isSame) {
        beginResetModel();
        std::vector<Row> rows;
        for (const std::string& name : ordered) {
            const int known = run.id == runId_ ? rowOf(name) : -1;
            rows.push_back(known >= 0 ? rows_[static_cast<std::size_t>(known)]
                                      : Row{name, kNoNumber, kNoNumber, kNoNumber, 0, {}});
        }
        rows_ = std::move(rows);
        runId_ = run.id;
    }
    for (const values::RunFigure& point : run.latestMetrics) {
        Row& row = rows_[static_cast<std::size_t>(rowOf(point.name))];
        row.newest = point.value;
        row.step = point.step;
        row.low = std::isnan(row.low) ? row.low : std::fmin(row.low, point.value);
        row.high = std::isnan(row.high) ? row.high : std::fmax(row.high, point.value);
    }
    if (!isSame) {
        endResetModel();
    } else if (!rows_.empty()) {
        Q_EMIT dataChanged(index(0, kNewest), index(rowCount() - 1, kNumColumns - 1));
    }
}

void RunMetrics::setSeries(const std::vector<values::MetricSeries>& series) {
    for (const values::MetricSeries& one : series) {
        const int at = rowOf(one.key);
        if (at < 0) {
            continue;
        }
        Row& row = rows_[static_cast<std::size_t>(at)];
        row.trend.clear();
        row.low = row.high = kNoNumber;
        for (const values::MetricPoint& point : one.points) {
            row.trend.push_back(point.value);
            row.low = std::fmin(row.low, point.value);
            row.high = std::fmax(row.high, point.value);
        }
        if (std::isnan(row.newest) && !one.points.empty()) {
            row.newest = one.points.back().value;
        }
    }
    if (!rows_.empty()) {
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, kNumColumns - 1));
    }
}

void RunMetrics::clear() {
    beginResetModel();
    rows_.clear();
    runId_.clear();
    endResetModel();
}

const std::vector<double>& RunMetrics::trendAt(int row) const {
    return rows_[static_cast<std::size_t>(row)].trend;
}

int RunMetrics::rowOf(const std::string& metric) const {
    const auto found =
        std::ranges::find_if(rows_, [&](const Row& row) { return row.name == metric; });
    return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

std::vector<std::string> RunMetrics::names() const {
    std::vector<std::string> names;
    for (const Row& row : rows_) {
        names.push_back(row.name);
    }
    return names;
}

double RunMetrics::value(const Row& row, int column) const {
    switch (column) {
        case kNewest:
            return row.newest;
        case kLowest:
            return row.low;
        case kHighest:
            return row.high;
        case kBest: {
            const values::MetricSense sense = values::senseOf(row.name);
            return sense == values::MetricSense::kUnknown         ? kNoNumber
                   : sense == values::MetricSense::kLowerIsBetter ? row.low
                                                                  : row.high;
        }
        default:
            return kNoNumber;
    }
}

QVariant RunMetrics::cell(int place, int column, int role) const {
    const Row& row = rows_[static_cast<std::size_t>(place)];
    if (column == kName) {
        return role == Qt::DisplayRole   ? QVariant(metricTitle(row.name))
               : role == Qt::ToolTipRole ? QVariant(qtext(row.name))
                                         : QVariant();
    }
    const double number = value(row, column);
    if (role == Qt::DisplayRole && column >= kNewest) {
        return std::isnan(number) && column != kNewest ? noneText() : numberText(number);
    }
    if (role == Qt::ToolTipRole && column >= kNewest) {
        const QString exact = QString::number(number, 'g', 17);
        return column == kNewest
                   ? tr("%1 at step %2").arg(exact, countText(static_cast<double>(row.step)))
                   : exact;
    }
    return {};
}

}  // namespace millrace::gui

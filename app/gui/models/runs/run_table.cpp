#include "app/gui/models/runs/run_table.h"

#include <QDateTime>
#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_set>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"

namespace millrace::gui {
namespace {

using values::RunState;
using values::RunSummary;

constexpr std::size_t kNumStates = 8;
/// More separate ranges of rows than this are reported as one.
constexpr std::size_t kMostStretches = 64;

}  // namespace

int RunTable::Pool::codeOf(const QString& text) {
    const auto known = codes.constFind(text);
    if (known != codes.constEnd()) {
        return *known;
    }
    const int code = static_cast<int>(texts.size());
    codes.insert(text, code);
    texts.push_back(text);
    return code;
}

RunTable::RunTable(QObject* parent)
    : QAbstractTableModel(parent),
      numInState_(kNumStates, 0),
      nowMs_(QDateTime::currentMSecsSinceEpoch()) {
    // Columns that the page always needs; setNow() relies on "duration".
    for (const char* key : {"state", "name", "variation", "id", "started", "duration"}) {
        columnOf_.insert(key, static_cast<int>(columns_.size()));
        columns_.push_back(std::make_unique<RunColumn>(key));
    }
}

RunTable::~RunTable() = default;

void RunTable::apply(bool isReset, const std::vector<RunSummary>& changed,
                     const std::vector<std::string>& removed) {
    if (isReset) {
        keepOnly(changed);
    }
    change(changed);
    removeRuns(removed);
}

// Runs that are listed again keep their rows: the selection survives a reconnection.
void RunTable::keepOnly(const std::vector<RunSummary>& runs) {
    std::unordered_set<std::string> kept;
    for (const RunSummary& run : runs) {
        if (rowOf(run.id) >= 0) {
            kept.insert(run.id);
        }
    }
    if (kept.empty()) {
        clear();
        return;
    }
    std::vector<std::string> gone;
    for (const RunSummary& run : runs_) {
        if (kept.count(run.id) == 0) {
            gone.push_back(run.id);
        }
    }
    removeRuns(gone);
}

void RunTable::clear() {
    if (runs_.empty()) {
        extremes_.clear();
        return;
    }
    beginResetModel();
    runs_.clear();
    params_.clear();
    rows_.clear();
    extremes_.clear();
    for (const auto& column : columns_) {
        column->resize(0);
    }
    std::ranges::fill(numInState_, 0);
    endResetModel();
}

const RunSummary* RunTable::find(const std::string& id) const {
    const int row = rowOf(id);
    return row < 0 ? nullptr : &run(row);
}

int RunTable::rowOf(const std::string& id) const {
    const auto found = rows_.find(id);
    return found == rows_.end() ? -1 : found->second;
}

int RunTable::numInState(RunState state) const {
    return numInState_[static_cast<std::size_t>(state)];
}

int RunTable::columnOf(const QString& key) {
    const auto known = columnOf_.constFind(key);
    if (known != columnOf_.constEnd()) {
        return *known;
    }
    const int index = static_cast<int>(columns_.size());
    // Filled before the views learn of it.
    auto column = std::make_unique<RunColumn>(key);
    column->resize(runs_.size());
    for (int row = 0; row < numRuns(); ++row) {
        fill(*column, row);
    }
    beginInsertColumns({}, index, index);
    columnOf_.insert(key, index);
    columns_.push_back(std::move(column));
    endInsertColumns();
    return index;
}

QString RunTable::param(int row, const std::string& name) const {
    const auto known = paramNames_.codes.constFind(qtext(name));
    if (known == paramNames_.codes.constEnd()) {
        return {};
    }
    const ParamCodes& codes = params_[static_cast<std::size_t>(row)];
    // Codes are sorted by name, and 0 is the least code of a value.
    const auto found = std::lower_bound(codes.begin(), codes.end(), std::pair(*known, 0));
    return found != codes.end() && found->first == *known
               ? paramValues_.texts[static_cast<std::size_t>(found->second)]
               : QString();
}

std::map<std::string, std::string> RunTable::params(int row, const QString& prefix) const {
    std::map<std::string, std::string> found;
    for (const auto& [name, value] : params_[static_cast<std::size_t>(row)]) {
        const QString& key = paramNames_.texts[static_cast<std::size_t>(name)];
        if (key.startsWith(prefix)) {
            found[key.toStdString()] =
                paramValues_.texts[static_cast<std::size_t>(value)].toStdString();
        }
    }
    return found;
}

void RunTable::setExtremes(const std::string& id, const std::string& metric, double low,
                           double high) {
    const int row = rowOf(id);
    if (row < 0) {
        return;
    }
    extremes_[metric][id] = {low, high};
    fillRow(row);
    announce({row});
}

bool RunTable::hasExtremes(int row, const std::string& metric) const {
    return !std::isnan(extremes(row, metric).low);
}

RunTable::Range RunTable::extremes(int row, const std::string& metric) const {
    const auto known = extremes_.find(metric);
    if (known == extremes_.end()) {
        return {};
    }
    const auto range = known->second.find(run(row).id);
    if (range == known->second.end()) {
        return {};
    }
    // The range was fetched at some moment; the newest value may have left it since.
    Range result = range->second;
    if (const auto newest = run(row).metric(metric); newest && !std::isnan(*newest)) {
        result.low = std::fmin(result.low, *newest);
        result.high = std::fmax(result.high, *newest);
    }
    return result;
}

std::vector<std::string> RunTable::metricNames() const {
    std::set<std::string> names;
    for (const RunSummary& run : runs_) {
        for (const values::RunFigure& point : run.latestMetrics) {
            names.insert(point.name);
        }
    }
    return {names.begin(), names.end()};
}

std::vector<std::string> RunTable::paramNames() const {
    std::vector<std::string> names;
    for (const QString& name : paramNames_.texts) {
        names.push_back(name.toStdString());
    }
    std::ranges::sort(names);
    return names;
}

std::vector<std::string> RunTable::tagNames() const {
    std::set<std::string> names;
    for (const RunSummary& run : runs_) {
        for (const auto& [name, value] : run.tags) {
            names.insert(name);
        }
    }
    return {names.begin(), names.end()};
}

void RunTable::setNow(std::int64_t nowMs) {
    nowMs_ = nowMs;
    const int index = columnOf_.value("duration");
    RunColumn& durations = *columns_[static_cast<std::size_t>(index)];
    for (int row = 0; row < numRuns(); ++row) {
        const RunSummary& one = run(row);
        if (one.startedMs > 0 && one.endedMs == 0) {
            fill(durations, row);
            const QModelIndex cell = this->index(row, index);
            Q_EMIT dataChanged(cell, cell);
        }
    }
}

void RunTable::removeRuns(const std::vector<std::string>& ids) {
    std::vector<int> rows;
    for (const std::string& id : ids) {
        if (const int row = rowOf(id); row >= 0) {
            rows.push_back(row);
        }
    }
    // From the last stretch of rows to the first, so that the numbers of those that are left stay
    // valid.
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    while (!rows.empty()) {
        const int last = rows.back();
        int first = last;
        while (!rows.empty() && rows.back() == first) {
            rows.pop_back();
            --first;
        }
        ++first;
        beginRemoveRows({}, first, last);
        for (int row = first; row <= last; ++row) {
            --numInState_[static_cast<std::size_t>(run(row).state)];
            rows_.erase(run(row).id);
        }
        runs_.erase(runs_.begin() + first, runs_.begin() + last + 1);
        params_.erase(params_.begin() + first, params_.begin() + last + 1);
        for (const auto& column : columns_) {
            column->remove(static_cast<std::size_t>(first),
                           static_cast<std::size_t>(last - first + 1));
        }
        reindex(first);
        endRemoveRows();
    }
}

void RunTable::reindex(int firstRow) {
    for (int row = firstRow; row < numRuns(); ++row) {
        rows_[run(row).id] = row;
    }
}

void RunTable::change(const std::vector<RunSummary>& changed) {
    std::vector<int> rows;
    std::vector<const RunSummary*> fresh;
    std::unordered_map<std::string, std::size_t> freshPlaces;
    for (const RunSummary& run : changed) {
        const int row = rowOf(run.id);
        if (row >= 0) {
            store(row, run);
            fillRow(row);
            rows.push_back(row);
        } else if (const auto [place, isNew] = freshPlaces.emplace(run.id, fresh.size()); isNew) {
            fresh.push_back(&run);
        } else {
            // A run may occur twice in a delivery: the later one counts.
            fresh[place->second] = &run;
        }
    }
    announce(std::move(rows));
    appendRuns(fresh);
}

void RunTable::appendRuns(const std::vector<const RunSummary*>& runs) {
    if (runs.empty()) {
        return;
    }
    const int first = numRuns();
    const std::size_t size = runs_.size() + runs.size();
    beginInsertRows({}, first, static_cast<int>(size) - 1);
    runs_.reserve(std::max(size, runs_.capacity()));
    params_.resize(size);
    for (const auto& column : columns_) {
        column->resize(size);
    }
    for (const RunSummary* run : runs) {
        const int row = numRuns();
        rows_.emplace(run->id, row);
        runs_.emplace_back();
        // The new row is in state kUnknown, which is 0, until store() replaces it.
        ++numInState_[0];
        store(row, *run);
        fillRow(row);
    }
    endInsertRows();
}

void RunTable::store(int row, const RunSummary& run) {
    RunSummary& place = runs_[static_cast<std::size_t>(row)];
    --numInState_[static_cast<std::size_t>(place.state)];
    place = run;
    ++numInState_[static_cast<std::size_t>(place.state)];
    // Parameters are stored as codes into pools of texts: thousands of runs share most of them. A
    // report without parameters leaves the known ones.
    if (!place.params.empty()) {
        takeParams(row, run);
        place.params.clear();
    }
}

void RunTable::takeParams(int row, const RunSummary& run) {
    ParamCodes& codes = params_[static_cast<std::size_t>(row)];
    codes.clear();
    for (const auto& [name, value] : run.params) {
        codes.emplace_back(paramNames_.codeOf(qtext(name)), paramValues_.codeOf(qtext(value)));
    }
    std::ranges::sort(codes);
}

void RunTable::fillRow(int row) {
    for (const auto& column : columns_) {
        fill(*column, row);
    }
}

void RunTable::fill(RunColumn& column, int row) const {
    const RunColumnInfo& facts = column.facts();
    const auto at = static_cast<std::size_t>(row);
    switch (facts.source) {
        case RunColumnSource::kParam:
            column.setText(at, param(row, facts.name));
            return;
        case RunColumnSource::kBest:
        case RunColumnSource::kLow:
        case RunColumnSource::kHigh: {
            const bool isLow = facts.source == RunColumnSource::kLow ||
                               (facts.source == RunColumnSource::kBest &&
                                values::senseOf(facts.name) == values::MetricSense::kLowerIsBetter);
            const values::RunFigure* best = run(row).best(facts.name);
            if (facts.source == RunColumnSource::kBest && best != nullptr) {
                column.setNumber(at, best->value);
                return;
            }
            const Range range = extremes(row, facts.name);
            column.setNumber(at, isLow ? range.low : range.high);
            return;
        }
        case RunColumnSource::kTrend:
            return;
        default:
            if (facts.isNumeric()) {
                column.setNumber(at, fieldNumber(facts, run(row), nowMs_));
            } else {
                column.setText(at, qtext(fieldText(facts, run(row))));
            }
    }
}

void RunTable::announce(std::vector<int> rows) {
    if (rows.empty()) {
        return;
    }
    std::ranges::sort(rows);
    std::vector<std::pair<int, int>> stretches;
    for (const int row : rows) {
        if (!stretches.empty() && row <= stretches.back().second + 1) {
            stretches.back().second = row;
        } else {
            stretches.emplace_back(row, row);
        }
    }
    if (stretches.size() > kMostStretches) {
        stretches = {{rows.front(), rows.back()}};
    }
    for (const auto& [first, last] : stretches) {
        Q_EMIT dataChanged(index(first, 0), index(last, columnCount() - 1));
    }
}

int RunTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : numRuns();
}

int RunTable::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(columns_.size());
}

QVariant RunTable::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    const RunColumn& column = this->column(index.column());
    if (role == Qt::DisplayRole) {
        return column.display(static_cast<std::size_t>(index.row()), nowMs_);
    }
    if (role == Qt::TextAlignmentRole) {
        return QVariant::fromValue(
            (column.facts().isNumeric() && column.facts().kind != RunColumnKind::kState
                 ? Qt::AlignRight
                 : Qt::AlignLeft) |
            Qt::AlignVCenter);
    }
    return {};
}

QVariant RunTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) {
        return {};
    }
    const RunColumnInfo& facts = column(section).facts();
    return role == Qt::DisplayRole   ? QVariant(facts.title)
           : role == Qt::ToolTipRole ? QVariant(facts.tip)
                                     : QVariant();
}

}  // namespace millrace::gui

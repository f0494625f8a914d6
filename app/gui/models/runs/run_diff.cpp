#include "app/gui/models/runs/run_diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/session/pairs.h"
#include "app/session/spec_differences.h"

namespace millrace::gui {
namespace {

using values::RunDetail;
using values::RunSummary;

QString labelOf(const RunSummary& run) {
    return run.variation.empty() ? qtext(run.name) : qtext(run.variation);
}

// Facts that always differ between runs and explain nothing.
bool isIdentity(const QString& name) {
    return name == QLatin1String("variation") || name == QLatin1String("name") ||
           name == QObject::tr("Directory");
}

}  // namespace

QString whyUnpaired(const Result<values::PairReply>& reply) {
    const std::string why =
        reply.ok() ? session::whyUnpaired(*reply) : session::whyUnpaired(reply.status());
    return asSentence(why);
}

void RunDiff::setRuns(std::vector<std::shared_ptr<const RunDetail>> runs) {
    beginResetModel();
    runs_ = std::move(runs);
    compute();
    endResetModel();
}

void RunDiff::setPairs(const std::string& first, values::PairReply pairs) {
    if (first == pairedWith_ && pairs == pairs_) {
        return;
    }
    beginResetModel();
    pairedWith_ = first;
    pairs_ = std::move(pairs);
    compute();
    endResetModel();
}

void RunDiff::update(const RunSummary& run) {
    for (auto& known : runs_) {
        if (known->summary.id == run.id) {
            auto changed = std::make_shared<RunDetail>(*known);
            changed->summary = run;
            known = std::move(changed);
            const std::vector<int> before = shown_;
            const std::size_t numRows = rows_.size();
            compute();
            if (before == shown_ && numRows == rows_.size() && !shown_.empty()) {
                Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
            } else {
                // Views may read the rows until beginResetModel() returns: they see the old list
                // until then.
                const std::vector<int> after = std::exchange(shown_, before);
                beginResetModel();
                shown_ = after;
                endResetModel();
            }
            return;
        }
    }
}

void RunDiff::setOnlyDifferent(bool isOnly) {
    if (isOnlyDifferent_ != isOnly) {
        beginResetModel();
        isOnlyDifferent_ = isOnly;
        show();
        endResetModel();
    }
}

void RunDiff::compute() {
    rows_.clear();
    addPairs();
    addMetrics();
    addSpecs();
    addFacts(&receiptFacts, tr("Receipt"));
    addFacts(&environmentFacts, tr("Environment"));
    numDifferent_ = static_cast<int>(
        std::ranges::count_if(rows_, [](const Row& row) { return row.differs && !row.isOfPairs; }));
    show();
}

void RunDiff::addMetrics() {
    std::set<std::string> names;
    for (const auto& run : runs_) {
        for (const values::RunFigure& point : run->summary.latestMetrics) {
            if (!session::isInternalMetric(point.name)) {
                names.insert(point.name);
            }
        }
    }
    Row state{tr("Result"), titleOf(session::word::kState), {}, {}, "", false};
    for (const auto& run : runs_) {
        const auto word = nameOf(run->summary.state);
        state.values.push_back(qtext(word));
        state.tips.push_back(qtext(run->summary.exitReason));
        state.differs = state.differs || state.values.back() != state.values.front();
    }
    rows_.push_back(std::move(state));
    for (const std::string& name :
         session::inUsualOrder(session::eachOnce({names.begin(), names.end()}))) {
        Row row{tr("Result"), metricTitle(name), {}, {}, name, false};
        for (const auto& run : runs_) {
            const auto value = session::shownValue(run->summary, name);
            row.values.push_back(value ? numberText(*value) : QString());
            // Tips have all digits (17 tell any two doubles apart) and decide whether runs differ;
            // rounded values may look equal.
            row.tips.push_back(value ? QString::number(*value, 'g', 17) : QString());
            row.differs = row.differs || row.tips.back() != row.tips.front();
        }
        rows_.push_back(std::move(row));
    }
}

// Null for the first run, and for a run that was not compared with it.
const values::RunPair* RunDiff::pairOf(std::size_t run) const {
    const auto found = std::ranges::find_if(pairs_.pairs, [&](const auto& p) {
        return p.run == runs_[run]->summary.id && p.hasScores;
    });
    const bool isOfFirst = run > 0 && runs_.front()->summary.id == pairedWith_;
    return !isOfFirst || found == pairs_.pairs.end() ? nullptr : &*found;
}

void RunDiff::addPairs() {
    Row rows{tr("Row by row, against the first"), tr("rows both scored"), {}, {}, "", false, true};
    std::vector<std::string> heads;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        const values::RunPair* pair = pairOf(i);
        rows.values.push_back(pair == nullptr ? QString()
                                              : qtext(session::pairedRowsText(*pair, pair->rows)));
        rows.tips.push_back(rows.values.back());
        rows.differs = rows.differs || pair != nullptr;
        for (const auto& head : pair != nullptr ? pair->heads : std::vector<values::PairedHead>{}) {
            if (head.rows > 0 && std::ranges::find(heads, head.name) == heads.end()) {
                heads.push_back(head.name);
            }
        }
    }
    if (rows.differs) {
        rows_.push_back(std::move(rows));
    }
    for (const std::string& head : heads) {
        addPairedHead(head);
    }
}

void RunDiff::addPairedHead(const std::string& name) {
    Row row{tr("Row by row, against the first"),
            tr("log loss of %1").arg(qtext(name)),
            {},
            {},
            "",
            true,
            true};
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        row.values.emplace_back();
        row.tips.emplace_back();
        row.differences.emplace_back();
        const values::RunPair* pair = pairOf(i);
        for (const auto& head : pair != nullptr ? pair->heads : std::vector<values::PairedHead>{}) {
            if (head.name != name || head.rows == 0) {
                continue;
            }
            const QString loss = numberText(head.logLoss), of = numberText(head.logLossOfFirst);
            row.values.back() = loss;
            row.tips.back() = QString::number(head.logLoss, 'g', 17);
            // Each pair has the loss of the first run over the rows that both scored. Its cell
            // shows that of the first pair; the sentence of each pair has its own.
            row.values.front() = row.values.front().isEmpty() ? of : row.values.front();
            row.tips.front() = row.tips.front().isEmpty()
                                   ? QString::number(head.logLossOfFirst, 'g', 17)
                                   : row.tips.front();
            using Verdict = BaseDifference::Verdict;
            const bool hasOtherLabel =
                session::hasOtherLabels(runs_[i]->params, runs_.front()->params);
            row.differences.back() = {
                head.logLossDifference,
                hasOtherLabel                 ? Verdict::kOtherLabel
                : head.logLossDifference == 0 ? Verdict::kSame
                                              : Verdict::kApart,
                head.logLossOfFirst,
                qtext(session::pairSentence(*pair, head, pairedWith_, hasOtherLabel))};
        }
    }
    rows_.push_back(std::move(row));
}

std::vector<const RunDetail*> RunDiff::details() const {
    std::vector<const RunDetail*> runs;
    for (const auto& run : runs_) {
        runs.push_back(run.get());
    }
    return runs;
}

// Keys that follow from others do not count as different, and a step that some runs switch off is a
// row of its own.
void RunDiff::addSpecs() {
    const std::size_t begin = rows_.size();
    addFacts(&specFacts, tr("Spec"));
    std::map<QString, session::Difference> differences;
    for (session::Difference& one :
         session::withStepsAsLines(session::withoutFollowing(session::differencesOf(details())))) {
        differences.emplace(qtext(one.key), std::move(one));
    }
    for (Row& row : rows_ | std::views::drop(begin)) {
        row.differs = differences.erase(row.name) > 0;
    }
    for (const auto& [key, difference] : differences) {
        Row row{tr("Spec"), key, {}, {}, "", true};
        for (const std::string& value : difference.values) {
            row.values.push_back(value == "-" ? QString() : qtext(value));
        }
        row.tips = row.values;
        const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(begin);
        rows_.insert(std::ranges::lower_bound(first, rows_.end(), key, {}, &Row::name),
                     std::move(row));
    }
}

void RunDiff::addFacts(std::vector<RunFact> (*factsOf)(const RunDetail&), const QString& title) {
    const bool isSpec = factsOf == &specFacts;  // keys, which need no section and are sorted
    struct Cells {
        std::size_t place;
        std::vector<QString> values, tips;
    };
    // Rows are in the order in which the runs name them; a run that lacks a fact has an empty cell.
    std::map<QString, Cells> byName;
    std::vector<QString> order;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        for (const RunFact& fact : factsOf(*runs_[i])) {
            const QString name = isSpec ? fact.name : fact.section + ": " + fact.name;
            if (isIdentity(fact.name)) {
                continue;
            }
            const auto [cells, isNew] = byName.try_emplace(name);
            if (isNew) {
                cells->second = {order.size(), std::vector<QString>(runs_.size()),
                                 std::vector<QString>(runs_.size())};
                order.push_back(name);
            }
            cells->second.values[i] = fact.value;
            cells->second.tips[i] = fact.tip.isEmpty() ? fact.value : fact.tip;
        }
    }
    if (isSpec) {
        std::ranges::sort(order);
    }
    for (const QString& name : order) {
        Cells& cells = byName[name];
        const bool differs =
            std::ranges::any_of(cells.tips, [&](const auto& t) { return t != cells.tips.front(); });
        rows_.push_back({title, name, std::move(cells.values), std::move(cells.tips), "", differs});
    }
}

void RunDiff::show() {
    shown_.clear();
    QString section;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (isOnlyDifferent_ && !rows_[i].differs) {
            continue;
        }
        if (rows_[i].section != section) {
            section = rows_[i].section;
            // A title is stored as the row below it, negative, so that no second list is needed.
            shown_.push_back(-1 - static_cast<int>(i));
        }
        shown_.push_back(static_cast<int>(i));
    }
}

std::optional<BaseDifference> RunDiff::difference(int row, int column) const {
    const int place = shown_[static_cast<std::size_t>(row)];
    // Column 0 has the names, column 1 the run that the others are compared with.
    if (place < 0 || column < 2) {
        return std::nullopt;
    }
    const Row& one = rows_[static_cast<std::size_t>(place)];
    if (!one.differences.empty()) {
        return one.differences[static_cast<std::size_t>(column - 1)];
    }
    if (one.metric.empty()) {
        return std::nullopt;
    }
    const RunDetail& run = *runs_[static_cast<std::size_t>(column - 1)];
    const RunDetail& other = *runs_.front();
    const auto value = session::shownValue(run.summary, one.metric),
               otherValue = session::shownValue(other.summary, one.metric);
    if (!value || !otherValue || !std::isfinite(*value - *otherValue)) {
        return std::nullopt;
    }
    return compareMetric(
        one.metric, {run.summary, run.params, *value}, {other.summary, other.params, *otherValue},
        labelOf(other.summary),
        pairedWith_ == other.summary.id ? session::findPair(pairs_, run.summary.id) : nullptr);
}

QString RunDiff::remarks() const {
    QString text;
    const bool isOfFirst = !runs_.empty() && runs_.front()->summary.id == pairedWith_;
    for (const std::string& remark :
         session::remarksOn(details(), isOfFirst ? pairs_ : values::PairReply())) {
        text += (text.isEmpty() ? "" : " ") + qtext(remark);
    }
    return text;
}

TextTable RunDiff::texts() const {
    TextTable table;
    table.header.append(QStringLiteral("name"));
    for (const auto& run : runs_) {
        table.header.append(qtext(run->summary.id) + ' ' + labelOf(run->summary));
    }
    for (const int place : shown_) {
        if (place >= 0) {
            const Row& row = rows_[static_cast<std::size_t>(place)];
            QStringList& cells = table.rows.emplace_back(row.name);
            for (const QString& value : row.tips) {
                cells.append(value);
            }
        }
    }
    return table;
}

int RunDiff::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

int RunDiff::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(runs_.size()) + 1;
}

QVariant RunDiff::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    const int place = shown_[static_cast<std::size_t>(index.row())];
    const Row& row = rows_[static_cast<std::size_t>(place < 0 ? -1 - place : place)];
    if (place < 0) {
        return role == Qt::DisplayRole && index.column() == 0 ? QVariant(row.section)
               : role == kIsSectionRole                       ? QVariant(true)
                                                              : QVariant();
    }
    const auto column = static_cast<std::size_t>(index.column());
    switch (role) {
        case Qt::DisplayRole:
            return column == 0                        ? row.name
                   : row.values[column - 1].isEmpty() ? noneText()
                                                      : row.values[column - 1];
        case Qt::ToolTipRole: {
            const auto against = difference(index.row(), index.column());
            return column == 0 ? row.name : against ? against->sentence : row.tips[column - 1];
        }
        case kDiffersRole:
            return row.differs;
        case kIsSectionRole:
            return false;
        default:
            return {};
    }
}

QVariant RunDiff::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) {
        return {};
    }
    if (section == 0) {
        return {};
    }
    const RunSummary& run = runs_[static_cast<std::size_t>(section - 1)]->summary;
    switch (role) {
        case Qt::DisplayRole:
            return labelOf(run);
        case Qt::ToolTipRole:
            return qtext(run.id + "  " + run.name +
                         (run.variation.empty() ? "" : ", variation " + run.variation));
        case kRunIdRole:
            return qtext(run.id);
        default:
            return {};
    }
}

Qt::ItemFlags RunDiff::flags(const QModelIndex& index) const {
    if (!index.isValid()) {
        return Qt::NoItemFlags;
    }
    return isSection(index.row()) ? Qt::ItemFlags(Qt::ItemIsEnabled)
                                  : Qt::ItemIsEnabled | Qt::ItemIsSelectable;
}

}  // namespace millrace::gui

#include "app/gui/models/details/fact_table.h"

namespace millrace::gui {
namespace {

constexpr FlatTable::ColumnSpec kFactColumns[] = {{QT_TRANSLATE_NOOP("FlatTable", "Name")},
                                                  {QT_TRANSLATE_NOOP("FlatTable", "Value")}};

}  // namespace

FactTable::FactTable(QObject* parent) : FlatTable(kFactColumns, parent) {}

void FactTable::setFacts(std::vector<RunFact> facts, bool hasSections) {
    if (facts == facts_ && hasSections == hasSections_) {
        return;
    }
    beginResetModel();
    facts_ = std::move(facts);
    hasSections_ = hasSections;
    refill();
    endResetModel();
}

void FactTable::setSearch(const QString& text) {
    if (search_ != text) {
        beginResetModel();
        search_ = text;
        refill();
        endResetModel();
    }
}

void FactTable::setMarked(QSet<QString> names) {
    marked_ = std::move(names);
    if (!rows_.empty()) {
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, 1), {kIsMarkedRole});
    }
}

void FactTable::refill() {
    rows_.clear();
    QString section;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        const RunFact& fact = facts_[i];
        if (!search_.isEmpty() && !fact.name.contains(search_, Qt::CaseInsensitive) &&
            !fact.value.contains(search_, Qt::CaseInsensitive)) {
            continue;
        }
        if (hasSections_ && fact.section != section) {
            section = fact.section;
            rows_.push_back(-1 - static_cast<int>(i));
        }
        rows_.push_back(static_cast<int>(i));
    }
}

QVariant FactTable::cell(int row, int column, int role) const {
    const int place = rows_[static_cast<std::size_t>(row)];
    if (place >= 0) {
        return factData(facts_[static_cast<std::size_t>(place)], column, role);
    }
    if (role == Qt::DisplayRole && column == 0) {
        return facts_[static_cast<std::size_t>(-1 - place)].section;
    }
    return role == kIsSectionRole ? QVariant(true) : QVariant();
}

QVariant FactTable::factData(const RunFact& fact, int column, int role) const {
    switch (role) {
        case Qt::DisplayRole:
            return column == 0 ? fact.name : fact.value;
        case Qt::ToolTipRole:
            return column == 0 ? fact.name : fact.tip.isEmpty() ? fact.value : fact.tip;
        case kFullValueRole:
            return fact.tip.isEmpty() ? fact.value : fact.tip;
        case kIsMarkedRole:
            return marked_.contains(fact.name);
        case kIsSectionRole:
            return false;
        default:
            return {};
    }
}

Qt::ItemFlags FactTable::flags(const QModelIndex& index) const {
    if (!index.isValid()) {
        return Qt::NoItemFlags;
    }
    return isSection(index.row()) ? Qt::ItemFlags(Qt::ItemIsEnabled)
                                  : Qt::ItemIsEnabled | Qt::ItemIsSelectable;
}

}  // namespace millrace::gui

#include "app/gui/models/details/fact_table.h"

namespace millrace::gui {

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

int FactTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int FactTable::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : 2;
}

QVariant FactTable::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    const int place = rows_[static_cast<std::size_t>(index.row())];
    if (place >= 0) {
        return factData(facts_[static_cast<std::size_t>(place)], index.column(), role);
    }
    if (role == Qt::DisplayRole && index.column() == 0) {
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

QVariant FactTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
        return {};
    }
    return section == 0 ? "Name" : "Value";
}

Qt::ItemFlags FactTable::flags(const QModelIndex& index) const {
    if (!index.isValid()) {
        return Qt::NoItemFlags;
    }
    return isSection(index.row()) ? Qt::ItemFlags(Qt::ItemIsEnabled)
                                  : Qt::ItemIsEnabled | Qt::ItemIsSelectable;
}

}  // namespace millrace::gui

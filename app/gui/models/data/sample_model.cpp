#include "app/gui/models/data/sample_model.h"

#include "app/gui/models/run_text.h"

namespace millrace::gui {
namespace {

QString valueText(const values::SampleColumn& column, int row) {
    return isNullAt(column, row) ? QStringLiteral("null")
                                 : qtext(column.values[static_cast<std::size_t>(row)]);
}

bool isNumberType(const std::string& type) {
    return type.rfind("int", 0) == 0 || type.rfind("uint", 0) == 0 || type.rfind("float", 0) == 0 ||
           type.rfind("double", 0) == 0 || type.rfind("decimal", 0) == 0;
}

}  // namespace

SampleModel::SampleModel(Side side, QObject* parent) : QAbstractTableModel(parent), side_(side) {}

void SampleModel::setComparison(std::shared_ptr<const SampleComparison> comparison) {
    beginResetModel();
    comparison_ = std::move(comparison);
    chooseRows();
    endResetModel();
}

void SampleModel::setOnlyChanges(bool isOn) {
    if (isOn == isOnlyChanges_) {
        return;
    }
    beginResetModel();
    isOnlyChanges_ = isOn;
    chooseRows();
    endResetModel();
}

void SampleModel::chooseRows() {
    rows_.clear();
    if (comparison_ == nullptr) {
        return;
    }
    for (int i = 0; i < static_cast<int>(comparison_->diff.rows.size()); ++i) {
        // The dataset itself has nothing before it: its rows are always shown.
        if (!isOnlyChanges_ || comparison_->isAlone ||
            comparison_->diff.rows[static_cast<std::size_t>(i)].hasChange) {
            rows_.push_back(i);
        }
    }
}

const SampleDiff::Row& SampleModel::rowAt(int row) const {
    return comparison_->diff.rows[static_cast<std::size_t>(rows_[static_cast<std::size_t>(row)])];
}

const values::SampleStage& SampleModel::stage() const {
    return side_ == Side::kBefore ? comparison_->before : comparison_->after;
}

int SampleModel::placeOf(const SampleDiff::Row& row) const {
    return side_ == Side::kBefore ? row.before : row.after;
}

int SampleModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int SampleModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() || comparison_ == nullptr ? 0
                                                      : static_cast<int>(stage().columns.size());
}

CellState SampleModel::columnState(int column) const {
    if (comparison_->isAlone) {
        return CellState::kSame;
    }
    const SampleDiff& diff = comparison_->diff;
    const auto place = static_cast<std::size_t>(column);
    if (side_ == Side::kBefore) {
        return diff.afterOf[place] < 0 ? CellState::kRemoved : CellState::kSame;
    }
    return diff.beforeOf[place] < 0 ? CellState::kAdded : CellState::kSame;
}

// The row's state comes before the column's, and that before the cell's: a removed row is marked as
// a whole.
CellState SampleModel::stateOf(const SampleDiff::Row& row, int column) const {
    if (comparison_->isAlone) {
        return CellState::kSame;
    }
    if (placeOf(row) < 0) {
        return CellState::kGap;
    }
    if (row.after < 0) {
        return CellState::kRemoved;
    }
    if (row.before < 0) {
        return CellState::kAdded;
    }
    const CellState ofColumn = columnState(column);
    // Most rows are unchanged: their cells need no comparison of texts.
    if (ofColumn != CellState::kSame || !row.hasChange) {
        return ofColumn;
    }
    const values::SampleColumn& here = stage().columns[static_cast<std::size_t>(column)];
    return valueText(here, placeOf(row)) == otherValue(row, column) ? CellState::kSame
                                                                    : CellState::kChanged;
}

// "" if the other side lacks the row or the column. Columns are matched by afterOf and beforeOf,
// because a step may add or drop some in between.
QString SampleModel::otherValue(const SampleDiff::Row& row, int column) const {
    const bool isBefore = side_ == Side::kBefore;
    const auto place = static_cast<std::size_t>(column);
    const int other =
        isBefore ? comparison_->diff.afterOf[place] : comparison_->diff.beforeOf[place];
    const values::SampleStage& stage = isBefore ? comparison_->after : comparison_->before;
    const int at = isBefore ? row.after : row.before;
    return other < 0 || at < 0 ? QString()
                               : valueText(stage.columns[static_cast<std::size_t>(other)], at);
}

// Compares each cell at worst: a sample has at most 1,000 rows.
int SampleModel::firstMarkedColumn() const {
    for (int column = 0; column < columnCount(); ++column) {
        if (columnState(column) != CellState::kSame) {
            return column;
        }
        for (int row = 0; row < rowCount(); ++row) {
            if (stateOf(rowAt(row), column) == CellState::kChanged) {
                return column;
            }
        }
    }
    return -1;
}

QVariant SampleModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) {
        return {};
    }
    const SampleDiff::Row& row = rowAt(index.row());
    const values::SampleColumn& column = stage().columns[static_cast<std::size_t>(index.column())];
    const int place = placeOf(row);
    switch (role) {
        case Qt::DisplayRole:
            return place < 0 ? QVariant() : QVariant(valueText(column, place));
        case kStateRole:
            return static_cast<int>(stateOf(row, index.column()));
        case kIsNullRole:
            return place >= 0 && isNullAt(column, place);
        case Qt::ToolTipRole:
            return toolTip(row, index.column());
        case Qt::TextAlignmentRole:
            return QVariant(static_cast<int>(
                Qt::AlignVCenter | (isNumberType(column.type) ? Qt::AlignRight : Qt::AlignLeft)));
        default:
            return {};
    }
}

QVariant SampleModel::toolTip(const SampleDiff::Row& row, int column) const {
    const int place = placeOf(row);
    const values::SampleColumn& facts = stage().columns[static_cast<std::size_t>(column)];
    switch (stateOf(row, column)) {
        case CellState::kGap:
            return side_ == Side::kAfter ? tr("This row was removed") : tr("This row is new");
        case CellState::kRemoved:
            return row.after < 0 ? tr("This row was removed") : tr("This column was dropped");
        case CellState::kChanged:
            return side_ == Side::kBefore
                       ? tr("%1\nafter the step: %2")
                             .arg(valueText(facts, place), otherValue(row, column))
                       : tr("%1\nbefore the step: %2")
                             .arg(valueText(facts, place), otherValue(row, column));
        case CellState::kAdded:
        case CellState::kSame:
            break;
    }
    return valueText(facts, place);
}

QVariant SampleModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (comparison_ == nullptr || section < 0) {
        return {};
    }
    if (orientation == Qt::Vertical) {
        // The row's number in its split, so that both sides and all steps call a row the same.
        return role == Qt::DisplayRole && section < rowCount()
                   ? QVariant(QString::number(rowAt(section).rowId))
                   : QVariant();
    }
    if (section >= columnCount()) {
        return {};
    }
    const values::SampleColumn& column = stage().columns[static_cast<std::size_t>(section)];
    switch (role) {
        case Qt::DisplayRole:
            return qtext(column.name);
        case kStateRole:
            return static_cast<int>(columnState(section));
        case Qt::ToolTipRole:
            return columnState(section) == CellState::kAdded
                       ? tr("%1 (%2), new").arg(qtext(column.name), qtext(column.type))
                   : columnState(section) == CellState::kRemoved
                       ? tr("%1 (%2), dropped here").arg(qtext(column.name), qtext(column.type))
                       : tr("%1 (%2)").arg(qtext(column.name), qtext(column.type));
        case Qt::TextAlignmentRole:
            return QVariant(static_cast<int>(
                Qt::AlignVCenter | (isNumberType(column.type) ? Qt::AlignRight : Qt::AlignLeft)));
        default:
            return {};
    }
}

void SampleStepsModel::setStages(const std::vector<values::SampleStage>& stages) {
    beginResetModel();
    stages_ = stages;
    endResetModel();
}

int SampleStepsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(stages_.size());
}

QVariant SampleStepsModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) {
        return {};
    }
    const values::SampleStage& s = stage(index.row());
    switch (role) {
        case Qt::DisplayRole:
            return qtext(s.step);
        case kKindRole:
            return qtext(s.kind);
        case kTextRole:
            return qtext(s.text);
        case kEnabledRole:
            return s.isEnabled;
        case kRowsRole:
            return index.row() == 0 && s.rowsIn == s.rowsOut
                       ? tr("%1 rows").arg(countText(static_cast<double>(s.rowsOut)))
                       // Thin spaces around an arrow.
                       : countText(static_cast<double>(s.rowsIn)) + QChar(0x2009) + QChar(0x2192) +
                             QChar(0x2009) + countText(static_cast<double>(s.rowsOut));
        case kKeptRole:
            return s.rowsIn > 0 ? static_cast<double>(s.rowsOut) / static_cast<double>(s.rowsIn)
                                : 1.0;
        case Qt::ToolTipRole:
            return qtext(s.text) + (s.isEnabled ? QString() : tr("\nswitched off"));
        case Qt::AccessibleTextRole:
            return tr("%1, %2, %3 rows in, %4 rows out")
                .arg(qtext(s.step), qtext(s.kind))
                .arg(s.rowsIn)
                .arg(s.rowsOut);
        default:
            return {};
    }
}

}  // namespace millrace::gui

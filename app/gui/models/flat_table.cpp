#include "app/gui/models/flat_table.h"

#include <QCoreApplication>

#include "app/gui/models/run_text.h"

namespace millrace::gui {

FlatTable::FlatTable(std::span<const ColumnSpec> columns, QObject* parent)
    : QAbstractTableModel(parent), columns_(columns) {}

int FlatTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : numRows();
}

int FlatTable::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(columns_.size());
}

QVariant FlatTable::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    return role == Qt::TextAlignmentRole ? sideOf(index.column())
                                         : cell(index.row(), index.column(), role);
}

QVariant FlatTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return sideOf(section);
    }
    if (role != Qt::DisplayRole) {
        return {};
    }
    return capital(QCoreApplication::translate("FlatTable",
                                               columns_[static_cast<std::size_t>(section)].title));
}

QVariant FlatTable::sideOf(int column) const {
    return static_cast<int>(Qt::AlignVCenter | columns_[static_cast<std::size_t>(column)].side);
}

}  // namespace millrace::gui

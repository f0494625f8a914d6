#pragma once
// A table without children whose columns are known when it is written: titles, sides and counts are
// answered here, rows and cells by the table itself.
//
// Threads: the GUI thread.
#include <QAbstractTableModel>
#include <span>

namespace millrace::gui {

class FlatTable : public QAbstractTableModel {
    Q_OBJECT

 public:
    struct ColumnSpec {
        const char* title;                       ///< QT_TRANSLATE_NOOP("FlatTable", ...)
        Qt::AlignmentFlag side = Qt::AlignLeft;  ///< of the title and the cells
    };
    int rowCount(const QModelIndex& parent = {}) const final;
    int columnCount(const QModelIndex& parent = {}) const final;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const final;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const final;

 protected:
    /// `columns` lives as long as the table.
    FlatTable(std::span<const ColumnSpec> columns, QObject* parent);
    virtual int numRows() const = 0;
    /// Row and column are there; every role but Qt::TextAlignmentRole.
    virtual QVariant cell(int row, int column, int role) const = 0;

 private:
    QVariant sideOf(int column) const;

    std::span<const ColumnSpec> columns_;
};

}  // namespace millrace::gui

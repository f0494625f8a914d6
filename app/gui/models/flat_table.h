#pragma once
// FlatTable: base of tables without children and with fixed columns. It handles titles, alignment
// and counts; the derived table supplies rows and cells.
//
// Threads: the GUI thread.
#include <QAbstractTableModel>
#include <span>

namespace millrace::gui {

class FlatTable : public QAbstractTableModel {
    Q_OBJECT

 public:
    struct ColumnSpec {
        const char* title;                       ///< begins with a capital letter when it is shown
        Qt::AlignmentFlag side = Qt::AlignLeft;  ///< alignment of the title and the cells
    };
    int rowCount(const QModelIndex& parent = {}) const final;
    int columnCount(const QModelIndex& parent = {}) const final;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const final;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const final;

 protected:
    /// `columns` must outlive the table.
    FlatTable(std::span<const ColumnSpec> columns, QObject* parent);
    virtual int numRows() const = 0;
    /// `row` and `column` are valid; called for every role except Qt::TextAlignmentRole.
    virtual QVariant cell(int row, int column, int role) const = 0;

 private:
    QVariant sideOf(int column) const;

    std::span<const ColumnSpec> columns_;
};

}  // namespace millrace::gui

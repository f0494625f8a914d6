#pragma once
// A table of the Data page: selection by cells, Ctrl+C copies it as tab-separated text, columns as
// wide as their content up to a bound.
//
// Threads: the GUI thread.
#include <QTableView>

namespace millrace::gui {

class DataTable final : public QTableView {
    Q_OBJECT

 public:
    explicit DataTable(QWidget* parent = nullptr);
    /// Widths from the header and the first rows, at most `most` pixels a column.
    void fitColumns(int most = 260);
    /// The selection, or (without one) all rows; with the header.
    QString asTsv() const;
    void copy();

 Q_SIGNALS:
    void copied(int numRows);

 protected:
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
};

}  // namespace millrace::gui

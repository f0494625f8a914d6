#pragma once
// A table of the Data page: selects cells, copies them by Ctrl+C as tab-separated text, fits column
// widths to the content up to a limit.
//
// Threads: the GUI thread.
#include <QTableView>

namespace millrace::gui {

class DataTable final : public QTableView {
    Q_OBJECT

 public:
    explicit DataTable(QWidget* parent = nullptr);
    /// Sets widths from the header and the first rows, at most `most` pixels per column.
    void fitColumns(int most = 260);
    /// The selection, or without one all rows; with the header.
    QString asTsv() const;
    void copy();

 Q_SIGNALS:
    void copied(int numRows);

 protected:
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
};

}  // namespace millrace::gui

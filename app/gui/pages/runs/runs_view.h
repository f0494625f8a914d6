#pragma once
// RunsView: the table of runs: fixed pinned columns on the left, the others beside them.
//
// Two table views over one model and one selection; the right one has the focus, so keys and
// accessibility see one table. Keys: arrows, Left and Right fold and unfold, Space ticks for the
// comparison, Enter opens. Columns are dragged, resized and pinned in the headers. Threads: the GUI
// thread. Owns: views and the arrangement of columns.
#include <QTableView>
#include <QWidget>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/models/runs/run_columns.h"

namespace millrace::gui {

class RunCellDelegate;
class RunColors;
class RunRows;
class RunTrends;
class WrappedHeader;
struct TextTable;

/// One of the two halves.
class RunTableView final : public QTableView {
    Q_OBJECT

 public:
    RunTableView(RunRows& rows, RunCellDelegate& delegate, QWidget* parent);
    WrappedHeader& header() const { return *header_; }
    void scrollTo(const QModelIndex& index, ScrollHint hint = EnsureVisible) override;
    void keyboardSearch(const QString&) override {}  // letters are shortcuts of the page

 Q_SIGNALS:
    void hovered(int row);
    void opened(int row);
    void focusChanged();

 protected:
    /// Moves by rows: the current cell may be in the other half.
    QModelIndex moveCursor(CursorAction action, Qt::KeyboardModifiers modifiers) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

 private:
    bool foldAt(const QPoint& position);
    void fold(bool isExpanded);
    void tickSelected();

    RunRows& rows_;
    WrappedHeader* header_;
};

class RunsView final : public QWidget {
    Q_OBJECT

 public:
    RunsView(RunRows& rows, const RunTrends& trends, const RunColors& colors, QWidget* parent);

    void setColumns(const RunColumns& columns);
    const RunColumns& columns() const { return columns_; }
    void fitColumn(const QString& key);

    std::string currentId() const;  ///< "": none
    std::vector<std::string> selectedIds() const;
    /// Selects those that are shown; the first becomes the current one and is scrolled to.
    void select(const std::vector<std::string>& ids);
    /// First and last visible row; first > last: none.
    std::pair<int, int> visibleRows() const;
    TextTable selectedTexts() const;
    void focusRows();
    /// While the daemon is unreachable the rows are old, and dimmed.
    void setAway(bool isAway);

    RunTableView& rowsView() const { return *main_; }
    RunTableView& pinnedView() const { return *pinned_; }

 Q_SIGNALS:
    void columnsChanged();
    void selectionChanged();
    void opened(const QString& id);
    void viewportChanged();
    void menuAsked(const QPoint& globalPosition);
    void headerMenuAsked(const QString& key, const QPoint& globalPosition);

 protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

 private:
    void build();
    void buildHeader(RunTableView& view);
    void connectView(RunTableView& view);
    void connectScrolling();
    void connectSelection();
    void arrange();
    void arrangeHeader(RunTableView& view, bool isPinned);
    void fitPinned();
    void fitHeaders();
    void takeOrder(RunTableView& view);
    void showSort();
    void sortBy(int column);
    void hover(int row);
    void keepSelection();
    void setRowHeights();
    void showFocus();

    RunRows& rows_;
    RunCellDelegate* delegate_;
    RunTableView *pinned_ = nullptr, *main_ = nullptr;
    QWidget* gap_ = nullptr;  // as high as the scroll bar beside it
    RunColumns columns_;
    bool isArranging_ = false;
    std::vector<std::string> keptIds_;  // across a reset of the model
    std::string keptCurrent_;
};

}  // namespace millrace::gui

// Keys and mouse of one half of the table of runs.
#include <QHeaderView>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <algorithm>

#include "app/gui/models/runs/run_rows.h"
#include "app/gui/pages/runs/parts/run_cell_delegate.h"
#include "app/gui/pages/runs/parts/wrapped_header.h"
#include "app/gui/pages/runs/runs_view.h"
#include "app/gui/widgets/look.h"

namespace millrace::gui {

RunTableView::RunTableView(RunRows& rows, RunCellDelegate& delegate, QWidget* parent)
    : QTableView(parent), rows_(rows), header_(new WrappedHeader(this)) {
    setHorizontalHeader(header_);
    setModel(&rows);
    setItemDelegate(&delegate);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setSelectionMode(QAbstractItemView::ExtendedSelection);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    setShowGrid(false);
    setWordWrap(false);
    setLook(*this, "bare");  // the current row shows the focus
    setMouseTracking(true);
    setTabKeyNavigation(false);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    verticalHeader()->hide();
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
}

// Scrolls by rows only: the current cell may be in the other half.
void RunTableView::scrollTo(const QModelIndex& index, ScrollHint hint) {
    if (!index.isValid()) {
        return;
    }
    QScrollBar* bar = horizontalScrollBar();
    const int scrolled = bar->value();
    const int column = horizontalHeader()->logicalIndexAt(viewport()->width() / 2);
    QTableView::scrollTo(column >= 0 ? index.siblingAtColumn(column) : index, hint);
    bar->setValue(scrolled);
}

QModelIndex RunTableView::moveCursor(CursorAction action, Qt::KeyboardModifiers) {
    const int last = rows_.rowCount() - 1;
    const int column = currentIndex().isValid() ? currentIndex().column() : 1;
    const int page = std::max(1, viewport()->height() / std::max(1, rowHeight(0)) - 1);
    int row = currentIndex().row();
    switch (action) {
        case MoveUp:
        case MovePrevious:
            row -= 1;
            break;
        case MoveDown:
        case MoveNext:
            row += 1;
            break;
        case MovePageUp:
            row -= page;
            break;
        case MovePageDown:
            row += page;
            break;
        case MoveHome:
            row = 0;
            break;
        case MoveEnd:
            row = last;
            break;
        default:
            break;
    }
    return last < 0 ? QModelIndex() : rows_.index(std::clamp(row, 0, last), column);
}

void RunTableView::fold(bool isExpanded) {
    const int row = currentIndex().row();
    if (row < 0) {
        return;
    }
    if (rows_.numVariations(row) > 0 && rows_.isExpanded(row) != isExpanded) {
        rows_.setExpanded(rows_.idAt(row), isExpanded);
    } else if (!isExpanded && rows_.depth(row) > 0) {
        int base = row;
        while (base > 0 && rows_.depth(base) > 0) {
            --base;
        }
        setCurrentIndex(rows_.index(base, currentIndex().column()));
    } else if (isExpanded && rows_.numVariations(row) > 0) {
        setCurrentIndex(rows_.index(row + 1, currentIndex().column()));
    }
}

// Ticks all selected rows if the current one becomes ticked, else unticks them.
void RunTableView::tickSelected() {
    const int row = currentIndex().row();
    if (row < 0) {
        return;
    }
    const bool isTicked = !rows_.isTicked(rows_.idAt(row));
    std::vector<std::string> ids = {rows_.idAt(row)};
    for (const QModelIndex& index : selectionModel()->selectedRows()) {
        ids.push_back(rows_.idAt(index.row()));
    }
    for (const std::string& id : ids) {
        rows_.setTicked(id, isTicked);
    }
}

void RunTableView::keyPressEvent(QKeyEvent* event) {
    const int row = currentIndex().row();
    const bool isPlain = (event->modifiers() & ~Qt::KeypadModifier) == 0;
    switch (event->key()) {
        case Qt::Key_Space:
            tickSelected();
            return;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            if (row >= 0) {
                Q_EMIT opened(row);
            }
            return;
        case Qt::Key_Left:
        case Qt::Key_Right:
            if (isPlain) {
                fold(event->key() == Qt::Key_Right);
                return;
            }
            break;
        default:
            break;
    }
    QTableView::keyPressEvent(event);
}

bool RunTableView::foldAt(const QPoint& position) {
    const QModelIndex index = indexAt(position);
    if (!index.isValid() || index.column() != rows_.columnOfKey("name") ||
        rows_.numVariations(index.row()) == 0) {
        return false;
    }
    const QRect mark = RunCellDelegate::foldRect(visualRect(index), rows_.depth(index.row()));
    if (!mark.adjusted(-3, -6, 3, 6).contains(position)) {
        return false;
    }
    rows_.setExpanded(rows_.idAt(index.row()), !rows_.isExpanded(index.row()));
    return true;
}

void RunTableView::mousePressEvent(QMouseEvent* event) {
    const QPoint position = event->position().toPoint();
    if (event->button() == Qt::LeftButton && foldAt(position)) {
        return;
    }
    const QModelIndex index = indexAt(position);
    if (event->button() == Qt::LeftButton && index.isValid() &&
        index.column() == RunRows::kTickColumn) {
        rows_.setTicked(rows_.idAt(index.row()), !rows_.isTicked(rows_.idAt(index.row())));
        return;
    }
    QTableView::mousePressEvent(event);
}

void RunTableView::mouseMoveEvent(QMouseEvent* event) {
    Q_EMIT hovered(rowAt(event->position().toPoint().y()));
    QTableView::mouseMoveEvent(event);
}

void RunTableView::mouseDoubleClickEvent(QMouseEvent* event) {
    const QModelIndex index = indexAt(event->position().toPoint());
    if (index.isValid() && index.column() != RunRows::kTickColumn &&
        event->button() == Qt::LeftButton) {
        Q_EMIT opened(index.row());
    }
}

void RunTableView::focusInEvent(QFocusEvent* event) {
    QTableView::focusInEvent(event);
    Q_EMIT focusChanged();
}

void RunTableView::focusOutEvent(QFocusEvent* event) {
    QTableView::focusOutEvent(event);
    Q_EMIT focusChanged();
}

void RunTableView::leaveEvent(QEvent* event) {
    Q_EMIT hovered(-1);
    QTableView::leaveEvent(event);
}

}  // namespace millrace::gui

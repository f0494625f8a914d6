#pragma once
// RunCellDelegate: paints the cells of the table of runs: tick, state pill, fold mark, curve, value
// with the difference to the base.
//
// Threads: the GUI thread. Owns: nothing.
#include <QStyledItemDelegate>

namespace millrace::gui {

class RunColors;
class RunRows;
class RunTrends;
struct BaseDifference;
struct ThemeColors;

class RunCellDelegate final : public QStyledItemDelegate {
    Q_OBJECT

 public:
    RunCellDelegate(const RunRows& rows, const RunTrends& trends, const RunColors& colors,
                    QObject* parent);

    /// The row under the mouse; -1: none.
    void setHoveredRow(int row) { hoveredRow_ = row; }
    int hoveredRow() const { return hoveredRow_; }
    /// The current row while the table has the focus; else -1.
    void setFocusRow(int row) { focusRow_ = row; }
    /// While the daemon is unreachable the cells are old, and dimmed.
    void setAway(bool isAway) { isAway_ = isAway; }

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

    static int rowHeight(const QFont& font);
    /// The position of a row's fold mark within its name cell.
    static QRect foldRect(const QRect& cell, int depth);
    /// The full width that a cell needs.
    int widthOf(const QModelIndex& index, const QFont& font) const;

 private:
    struct Cell;
    void paintBack(const Cell& cell) const;
    void paintTick(const Cell& cell) const;
    void paintState(const Cell& cell) const;
    void paintName(const Cell& cell) const;
    void paintTrend(const Cell& cell) const;
    void paintValue(const Cell& cell) const;
    int differenceWidth(const QModelIndex& index, const QFont& font) const;
    QString differenceAt(const QModelIndex& index) const;

    const RunRows& rows_;
    const RunTrends& trends_;
    const RunColors& colors_;
    int hoveredRow_ = -1, focusRow_ = -1;
    bool isAway_ = false;
};

/// The text of a difference in a cell: "+0.0021", "+0.0021 ≠ label", "≠ rows".
QString differenceLabel(const BaseDifference& difference);
QColor differenceColor(const BaseDifference& difference, const ThemeColors& colors);

}  // namespace millrace::gui

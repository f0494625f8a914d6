#pragma once
// LogCanvas: lays out and paints only the visible lines of a log, whatever its length.
//
// The scroll position is a row, not a pixel: lines that are evicted at the top or added by a filter
// do not move the lines being read. While following, the last line is at the bottom. Whole lines
// are selected.
//
// Threads: the GUI thread. Owns: nothing of the model.
#include <QAbstractScrollArea>
#include <QPointer>
#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "app/gui/models/live/log_matcher.h"
#include "app/gui/models/live/log_model.h"

namespace millrace::gui {

class LogCanvas final : public QAbstractScrollArea {
    Q_OBJECT

 public:
    explicit LogCanvas(QWidget* parent = nullptr);

    void setModel(LogModel* model);
    void setEmptyText(const QString& text);
    /// Sets the text that is highlighted in the lines.
    void setHighlight(const TextMatcher& matcher);

    bool isFollowing() const { return isFollowing_; }
    void setFollowing(bool isFollowing);
    bool isWrapped() const { return isWrapped_; }
    void setWrapped(bool isWrapped);
    int topRow() const { return isFollowing_ ? lastTopRow() : topRow_; }
    void showRow(int row);
    /// The row that find and copy start from; -1: none.
    int currentRow() const;
    void setCurrentRow(int row);
    /// First and last selected row.
    std::optional<std::pair<int, int>> selectedRows() const;
    void selectAllRows();
    int lineHeight() const { return columns().lineHeight; }

 Q_SIGNALS:
    void followingChanged(bool isFollowing);

 protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void changeEvent(QEvent* event) override;

 private:
    struct Columns {
        int lineHeight = 0, charWidth = 0;
        int time = 0, level = 0, worker = 0, text = 0, textWidth = 0;
    };
    struct Placed {
        int row = 0, y = 0, height = 0;
    };
    Columns columns() const;
    int numPieces(int row, const Columns& columns) const;
    /// The visible rows from the top.
    std::vector<Placed> placed() const;
    std::vector<Placed> placedFromEnd(const Columns& columns) const;
    int lastTopRow() const;
    int rowAt(int y) const;
    void modelChanged();
    void rowsInsertedAt(int first, int count);
    void rowsRemovedAt(int first, int count);
    void updateBars();
    void setTop(int row);
    void paintRow(QPainter& painter, const Placed& place, const Columns& columns);
    void paintGap(QPainter& painter, const Placed& place, const LogRow& row);
    void paintText(QPainter& painter, const Placed& place, const Columns& columns,
                   const LogRow& row);
    void paintPiece(QPainter& painter, const QRect& rect, const QString& text, int from, int length,
                    const std::vector<std::pair<int, int>>& marks);
    void paintEmpty(QPainter& painter);

    QPointer<LogModel> model_;
    QString emptyText_;
    TextMatcher highlight_;
    bool isFollowing_ = true, isWrapped_ = false, isMovingBar_ = false;
    int topRow_ = 0;
    int widestChars_ = 0;                            ///< in the lines painted so far
    std::optional<std::uint64_t> anchor_, current_;  ///< sequences
};

}  // namespace millrace::gui

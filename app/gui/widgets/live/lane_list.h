#pragma once
// LaneList: the running jobs, one lane each: name, state, a strip of its activity over time, and
// its rates. The time axis is above the strips, the legend of colours below them.
//
// The strips show the link's time range if its axis is wall time, so that they are aligned with the
// charts; otherwise all that the lanes know. Keys: Up and Down select, with Shift several, Space
// toggles one, Ctrl+A all, Home and End, Enter opens the run, S asks to stop it, Right and Left
// expand and collapse the lanes of its ranks.
//
// Threads: the GUI thread. Owns: the selection, not the model.
#include <QAbstractScrollArea>
#include <QHash>
#include <QPointer>
#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/charts/parts/chart_link.h"
#include "app/gui/charts/parts/lane_paint.h"
#include "app/gui/models/live/lane_model.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/widgets/live/lane_layout.h"

namespace millrace::gui {

class LaneList final : public QAbstractScrollArea {
    Q_OBJECT

 public:
    LaneList(const LaneModel& model, const RunColors& colors, QWidget* parent = nullptr);

    void setLink(ChartLink* link);
    /// The live edge; repaints only growing parts. Not called while the daemon is unreachable.
    void setNow(std::int64_t nowMs);
    /// While the daemon is unreachable the lanes are old, and dimmed.
    void setAway(bool isAway);

    /// In the order of the rows. The current one is the last that was selected.
    const std::vector<std::string>& selected() const { return selected_; }
    const std::string& current() const { return current_; }
    void select(const std::vector<std::string>& ids, const std::string& current);

    /// The strip's area in widget coordinates, for tests that point at it.
    QRect stripRect(int row) const { return layout_.stripRect(row); }
    const LaneLayout& lanes() const { return layout_; }
    QString textAt(const QPoint& position) const;
    int rowHeight() const { return layout_.rowHeight(); }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

 Q_SIGNALS:
    void selectionChanged();
    /// It needs more or less height.
    void heightChanged();
    void runActivated(const std::string& id);
    void stopAsked(const std::string& id);
    void resumeAsked(const std::string& id);

 protected:
    bool viewportEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

 private:
    struct Cached {
        std::optional<std::uint64_t> revision;  // of the tracker
        Lane lane;
    };
    CurveRange visibleTime() const;
    /// `key`: a run's id; "#1" is appended for its rank 1.
    const Lane& laneOf(const QString& key, const LaneTracker& tracker,
                       const values::RunSummary& run);
    void arrange();
    void setOpen(int row, bool isOpen);
    void modelChanged();
    void rowsChanged(int first, int last);
    void choose(int row, Qt::KeyboardModifiers modifiers);
    void toggle(int row);
    void pressButton(int row);
    void announce();
    std::optional<double> timeAt(const QPoint& position) const;

    void paintHeader(QPainter& painter);
    void paintTimes(QPainter& painter);
    void paintFoot(QPainter& painter);
    void paintRow(QPainter& painter, int row);
    void paintName(QPainter& painter, int row, const QRect& rect);
    void paintState(QPainter& painter, const QRect& rect, const LaneState& state);
    void paintStrip(QPainter& painter, int row, const LaneState& state);
    void paintRanks(QPainter& painter, int row, const LaneState& state);
    void paintButton(QPainter& painter, int row, const LaneState& state);
    void paintCrosshair(QPainter& painter);

    const LaneModel& model_;
    const RunColors& colors_;
    QPointer<ChartLink> link_;
    std::vector<std::string> selected_;
    std::string current_, anchor_;
    LaneLayout layout_;
    QHash<QString, Cached> lanes_;
    std::int64_t nowMs_ = 0;
    int hovered_ = -1;
    bool isAway_ = false;
};

}  // namespace millrace::gui

#pragma once
// The running jobs, one lane each: what it is, where it stands, a strip of what it did over time,
// and its rates. Above the strips the time, below them what the colours mean.
//
// The strips show the time that the link shows when its axis is the wall time, so that they line up
// with the charts; else everything the lanes know. Keys: Up and Down choose, with Shift more than
// one, Space takes one in or out, Ctrl+A all, Home and End, Enter opens the run, S asks to stop it,
// Right and Left open and close the lanes of its ranks.
//
// Threads: the GUI thread. Owns: what is selected, not the model.
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
    /// The live edge; repaints only what grows. Not called while the daemon is away.
    void setNow(std::int64_t nowMs);
    /// The daemon is away: what the lanes say is old, and they are dimmed.
    void setAway(bool isAway);

    /// In the order of the rows. The current one is the last that was chosen.
    const std::vector<std::string>& selected() const { return selected_; }
    const std::string& current() const { return current_; }
    void select(const std::vector<std::string>& ids, const std::string& current);

    /// The strip's place in widget coordinates, so that tests can point at it.
    QRect stripRect(int row) const { return layout_.stripRect(row); }
    const LaneLayout& lanes() const { return layout_; }
    QString textAt(const QPoint& position) const;
    int rowHeight() const { return layout_.rowHeight(); }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

 Q_SIGNALS:
    void selectionChanged();
    /// It wants more room, or less.
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
    /// `key`: a run's id, with "#1" behind it of its rank 1.
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

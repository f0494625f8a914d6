#pragma once
// Strips over time: what each job did (training, waiting for input, checkpoint, evaluating, idle).
//
// The right edge is live: an open span grows to `nowMs`. With a ChartLink on wall time or relative
// time the strips share view and crosshair with the charts.
//
// Threads: the GUI thread. Owns: a copy of the lanes. Failure: spans that end before they start are
// left out.
#include <QColor>
#include <QPalette>
#include <QPointer>
#include <QString>
#include <QWidget>
#include <optional>
#include <vector>

#include "app/gui/charts/parts/chart_link.h"
#include "app/gui/models/lane_phase.h"

class QPainter;

namespace millrace::gui {

struct LaneSpan {
    double fromMs = 0;
    double toMs = 0;  ///< infinity: still going on
    LanePhase phase = LanePhase::kIdle;
};
struct Lane {
    QString id, name;
    QColor color;                   ///< the run's own; a chip before the name
    std::vector<LaneSpan> spans;    ///< by rising time
    std::optional<double> endedMs;  ///< the job ended: the strip stops there
};

QColor lanePhaseColor(LanePhase phase, const QPalette& palette);
QString lanePhaseName(LanePhase phase);  ///< "training", "waiting for input"

/// One strip without its name, for table cells: from..to fills the rectangle.
void paintLane(QPainter& painter, const QRectF& rect, const Lane& lane, double fromMs, double toMs,
               double nowMs, const QPalette& palette);

class LaneStrip : public QWidget {
    Q_OBJECT

 public:
    explicit LaneStrip(QWidget* parent = nullptr);

    void setLanes(std::vector<Lane> lanes);
    const std::vector<Lane>& lanes() const { return lanes_; }
    /// The live right edge, ms since 1970. Moving it repaints; no clock of its own.
    void setNow(double nowMs);
    /// How much time is visible up to now; 0: since the first span. A link's view overrides it.
    void setWindow(double widthMs);
    void setLink(ChartLink* link);
    /// Room for the names on the left, so that strips and charts line up; 0: as the names need.
    void setNameWidth(int pixels);
    void setEmptyText(const QString& text);
    void setSelected(const QString& id);

    /// "training for 12 s, 14:03:10 to 14:03:22 · this lane: 81 % training, 12 % waiting for
    /// input".
    QString textAt(const QPoint& position) const;
    /// How long a lane spent in each phase, ms, up to now.
    std::vector<double> durations(const Lane& lane) const;
    CurveRange visibleRange() const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

 Q_SIGNALS:
    void laneClicked(const QString& id);
    void laneActivated(const QString& id);  ///< double click or Enter

 protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

 private:
    int laneAt(const QPoint& position) const;
    QRectF stripRect(int lane) const;
    double nameWidth() const;
    double axisTop() const;
    bool isLinkedInTime() const;
    /// What is added to a place on the axis to get wall time.
    double offsetOf(const Lane& lane) const;
    double timeAt(int lane, double pixel) const;
    double pixelAt(double place) const;
    void paintRow(QPainter& painter, int lane) const;
    void paintTimeAxis(QPainter& painter) const;
    void paintLegend(QPainter& painter) const;
    void paintHover(QPainter& painter) const;
    void setHover(std::optional<double> place);
    void select(int lane);
    void describe();

    std::vector<Lane> lanes_;
    QPointer<ChartLink> link_;
    double nowMs_ = 0, windowMs_ = 0;
    int nameWidth_ = 0;
    QString emptyText_, selected_;
    std::optional<double> hover_;  // a place on the axis, where there is no link to keep it
};

}  // namespace millrace::gui

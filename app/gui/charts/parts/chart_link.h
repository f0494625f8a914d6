#pragma once
// ChartLink: the state that linked charts share: the axis, the visible range, whether they follow
// the newest data, the crosshair, and a selected range. Give one link to all PlotWidgets (and lane
// strips) of a page.
//
// LIVE with everything visible extends the view a little ahead of the data, so that most updates
// draw a few columns instead of the whole.
//
// Positions are in units of the axis: steps, rows, or ms (relative time: ms since the start of the
// curve).
//
// Threads: the GUI thread. Owns: the shared state, not the charts. Failure: none; a chart that is
// destroyed leaves the link by itself.
#include <QHash>
#include <QObject>
#include <optional>

#include "app/gui/charts/parts/chart_content.h"

namespace millrace::gui {

class ChartLink : public QObject {
    Q_OBJECT

 public:
    explicit ChartLink(QObject* parent = nullptr);

    XAxis xAxis() const { return xAxis_; }
    void setXAxis(XAxis axis);

    /// LIVE: the view follows the newest data. A zoom or a drag makes it FROZEN.
    bool isLive() const { return isLive_; }
    void setLive(bool isLive);
    /// The length of the newest data that LIVE shows, in units of the axis; 0: everything.
    double liveWindow() const { return liveWindow_; }
    void setLiveWindow(double width);

    /// The visible range.
    CurveRange view() const { return view_; }
    /// Shows that range and freezes.
    void setView(CurveRange view);
    /// Shows everything and freezes; follow() shows the newest data and stays live.
    void fit();
    void follow() { setLive(true); }

    std::optional<double> crosshair() const { return crosshair_; }
    void setCrosshair(std::optional<double> x);

    std::optional<CurveRange> selection() const { return selection_; }
    void setSelection(std::optional<CurveRange> range);

    /// Members report the range of their data; LIVE and fit() show the union.
    void reportExtent(const QObject* member, CurveRange extent);
    CurveRange extent() const { return extent_; }
    /// Removes a member; one that is destroyed is removed by itself.
    void forget(const QObject* member);

 Q_SIGNALS:
    void axisChanged();
    void viewChanged();
    void liveChanged(bool isLive);
    void crosshairChanged();
    void selectionChanged();

 private:
    void mergeExtents();
    void followNewest();
    void moveView(CurveRange view);

    XAxis xAxis_ = XAxis::kStep;
    bool isLive_ = true;
    double liveWindow_ = 0;
    CurveRange view_, extent_;
    std::optional<double> crosshair_;
    std::optional<CurveRange> selection_;
    QHash<const QObject*, CurveRange> extents_;
};

}  // namespace millrace::gui

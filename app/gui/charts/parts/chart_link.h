#pragma once
// What charts that stand together share: the axis, the visible range, whether they follow the
// newest data, the crosshair, and a selected range. Give one link to all PlotWidgets (and lane
// strips) of a page.
//
// LIVE with everything visible grows the view a little ahead of the data, so that most updates draw
// a few columns instead of the whole.
//
// Positions are in units of the axis: steps, rows, or ms (relative time: ms since the start of the
// curve).
//
// Threads: the GUI thread. Owns: the shared state, not the charts. Failure: none; a chart that goes
// away leaves by itself.
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
    /// How much of the newest data LIVE shows at most, in units of the axis; 0: everything.
    double liveWindow() const { return liveWindow_; }
    void setLiveWindow(double width);

    /// What is visible.
    CurveRange view() const { return view_; }
    /// Zooms there and freezes.
    void setView(CurveRange view);
    /// Everything there is, and freezes; follow() instead goes on with the newest.
    void fit();
    void follow() { setLive(true); }

    std::optional<double> crosshair() const { return crosshair_; }
    void setCrosshair(std::optional<double> x);

    std::optional<CurveRange> selection() const { return selection_; }
    void setSelection(std::optional<CurveRange> range);

    /// Members say what they have; the union is what live follows and fit shows.
    void reportExtent(const QObject* member, CurveRange extent);
    CurveRange extent() const { return extent_; }
    /// A member leaves; one that is destroyed is forgotten by itself.
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

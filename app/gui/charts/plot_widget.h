#pragma once
// PlotWidget: dense live curves. Each pixel column is drawn from its minimum and maximum, so spikes
// survive; linked crosshair, zoom and pan.
//
// LIVE follows the newest data; a zoom or a drag makes it FROZEN; F follows again. The wheel zooms
// at the cursor (Shift: pans), drag pans, Shift+drag selects a range, double click fits. Keys:
// arrows pan, + and - zoom, Home fits, F follows, L changes the scale, Escape drops the selection.
// A click on the legend hides a curve (Ctrl+click: shows only that one); hovering highlights it.
//
// Painting: axes, grid and legend are cached in one image, curves in another; appended points draw
// only the columns that they touch. Repaints are coalesced by Qt's update().
//
// Threads: the GUI thread. Owns: caches, and a ChartLink of its own until another is given.
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/charts/chart.h"
#include "app/gui/charts/parts/chart_link.h"

namespace millrace::gui {

/// One curve's logged point under the crosshair. `value` is exactly the logged value, not what a
/// pixel shows.
struct CrosshairValue {
    QString id, name;
    QColor color;
    CurvePoint point;
    double x = 0;  ///< the point's position on the axis
    std::optional<double> smoothed;
    QString ranks;  ///< "1.2 (rank 3) to 40 (rank 17)" if the value is a median; else empty
};

class PlotWidget : public Chart {
    Q_OBJECT

 public:
    explicit PlotWidget(QWidget* parent = nullptr);
    ~PlotWidget() override;

    /// Shares axis, view, crosshair and LIVE with others. nullptr: a link of its own again.
    void setLink(ChartLink* link);
    ChartLink* link() const;

    void setXAxis(XAxis axis) { link()->setXAxis(axis); }
    XAxis xAxis() const { return link()->xAxis(); }
    void setLogY(bool isLog);
    bool isLogY() const;
    /// Fixed bounds of the y axis (0 to 100 for a percentage); nullopt: from the data.
    void setYBounds(std::optional<double> low, std::optional<double> high);
    void setLegendVisible(bool isVisible);
    /// Whether to show LIVE or FROZEN; off for runs that have ended. On by default.
    void setBadgeVisible(bool isVisible);
    /// Whether its data widen the view of all linked charts; off for charts that only accompany the
    /// others. On by default.
    void setLeading(bool isLeading);

    bool isLive() const { return link()->isLive(); }
    void follow() { link()->follow(); }
    void fit() { link()->fit(); }

    void setCurveHidden(const QString& id, bool isHidden);
    bool isCurveHidden(const QString& id) const;
    /// Empty: none.
    void setHighlighted(const QString& id);

    /// The logged values nearest to the crosshair, in the order of the curves; empty without one.
    std::vector<CrosshairValue> crosshairValues() const;
    /// The area of the curves, in widget coordinates; and positions in it.
    QRectF plotArea() const;
    double xToPixel(double x) const;
    double pixelToX(double pixel) const;
    double yToPixel(double y) const;
    CurveRange yRange() const;

    void setContent(ChartContent content) override;
    const ChartContent& content() const override;
    void dataChanged() override;
    bool isEmpty() const override;
    QString summary() const override;
    QString visibleCsv() const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {180, 96}; }

 Q_SIGNALS:
    /// Shift+drag ended on a range of the axis.
    void rangeSelected(double from, double to);
    void curveHiddenChanged(const QString& id, bool isHidden);
    void curveHighlighted(const QString& id);

 protected:
    void appearanceChanged() override;
    void addMenuEntries(QMenu& menu) override;
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

 private:
    struct State;
    std::unique_ptr<State> s_;
};

}  // namespace millrace::gui

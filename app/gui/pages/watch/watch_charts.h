#pragma once
// WatchCharts: the live charts of the selected jobs: samples/s, loss, input stall, CPU, GPU, rows;
// and any other metric that the user adds. All share one axis, one view and one crosshair.
//
// Threads: the GUI thread. Owns: the charts and their link. Failure: none; the chart of a metric
// that no selected run logs shows that.
#include <QSettings>
#include <QWidget>
#include <set>
#include <string>
#include <vector>

#include "app/gui/charts/parts/chart_link.h"
#include "app/gui/charts/plot_widget.h"
#include "app/gui/models/live/lane_model.h"
#include "app/gui/models/live/node_model.h"
#include "app/gui/models/run_colors.h"

class QComboBox;
class QGridLayout;
class QHBoxLayout;
class QScrollArea;
class QToolButton;

namespace millrace::gui {

class ElidedLabel;
class LiveBadge;
class WatchFeed;

class WatchCharts final : public QWidget {
    Q_OBJECT

 public:
    struct Sources {
        WatchFeed& feed;
        const NodeModel& nodes;
        const LaneModel& lanes;
        const RunColors& colors;
    };
    /// `bar`: where the controls of all charts go.
    WatchCharts(const Sources& sources, QHBoxLayout* bar, QWidget* parent = nullptr);

    ChartLink* link() { return &link_; }
    /// In the order of the rows.
    void setRuns(const std::vector<std::string>& runs);
    /// Whether one of the runs is active or queued: otherwise there is nothing to follow.
    void setGoing(bool isGoing);
    bool isBadgeShown() const;
    QString badgeText() const;
    /// While the daemon is unreachable the data is old.
    void setAway(bool isAway);
    /// Rebuilds the contents: names or runs are new.
    void rebuild();
    /// Points of this run ("" for a machine) were appended.
    void dataChanged(const std::string& run);

    int numCharts() const { return static_cast<int>(charts_.size()); }
    PlotWidget* chart(int place) const { return charts_[static_cast<std::size_t>(place)].plot; }
    /// Counts only charts that are shown.
    void focusChart(int place);
    /// Hides charts without a curve: a line below the others names them. Cheap if nothing changes.
    void fold();
    /// "" if there are none.
    QString foldedText() const;
    /// Adds or removes the chart of a metric.
    void setMetricShown(const std::string& metric, bool isShown);
    bool isMetricShown(const std::string& metric) const { return extra_.contains(metric); }
    void follow() { link_.follow(); }

    void saveState(QSettings& settings) const;
    void restoreState(QSettings& settings);

 Q_SIGNALS:
    void copied(const QString& sentence);

 protected:
    void resizeEvent(QResizeEvent* event) override;

 private:
    enum class Kind { kMetrics, kCpu, kGpu };
    struct Entry {
        QString key;
        Kind kind = Kind::kMetrics;
        std::vector<std::string> metrics;
        QStringList suffixes;  ///< for the metrics' curves: "read", "kept"
        PlotWidget* plot = nullptr;
        bool isFolded = false;
    };
    void buildBar(QHBoxLayout* bar);
    void addAxes();
    void addWindows();
    void addDefaults();
    Entry& add(const QString& key, Kind kind, const QString& title, const Unit& unit,
               std::vector<std::string> metrics);
    void arrange();
    void fill(Entry& entry);
    /// Whether a chart without curves is kept: an active run has not logged its metrics yet.
    bool isExpected(const Entry& entry) const;
    /// Whether its data widen the axis.
    bool isLeading(const Entry& entry) const;
    void addRunCurves(const Entry& entry, const std::string& run, Curves& curves) const;
    void addCurve(const std::string& run, const std::string& metric, const QString& suffix,
                  int number, Curves& curves) const;
    void addMachineCurves(Kind kind, Curves& curves) const;
    void addSystemCurves(Kind kind, Curves& curves) const;
    std::vector<const NodeState*> machines() const;
    QString emptyText(const Entry& entry) const;
    std::vector<std::string> offeredMetrics() const;
    void openMetricPicker();
    void refreshBadge();
    void askDetail();

    Sources sources_;
    ChartLink link_;
    std::vector<std::string> runs_;
    std::vector<Entry> charts_;
    std::set<std::string> extra_;
    QScrollArea* area_ = nullptr;
    QWidget* page_ = nullptr;
    QGridLayout* grid_ = nullptr;
    ElidedLabel* folded_ = nullptr;
    LiveBadge* badge_ = nullptr;
    QToolButton* metricButton_ = nullptr;
    QComboBox* axisBox_ = nullptr;
    QComboBox* windowBox_ = nullptr;
    int numColumns_ = 0;
    bool isGoing_ = true;
};

}  // namespace millrace::gui

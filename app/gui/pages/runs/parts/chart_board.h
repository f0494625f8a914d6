#pragma once
// ChartBoard: charts of selected metrics over selected runs, stacked, with one axis and crosshair.
//
// Points arrive thinned to the smallest and largest of each stretch and are fetched finer where the
// user zooms in, so spikes survive. Active runs are read again. Threads: the GUI thread. Owns: the
// fetched curves of the runs that are shown. Failure: a run that cannot be read has no curve and is
// retried at the next change.
#include <QElapsedTimer>
#include <QHash>
#include <QPointer>
#include <QSettings>
#include <QTimer>
#include <QWidget>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/gui/charts/parts/chart_content.h"
#include "app/gui/models/live/watch_series.h"

class QComboBox;
class QLabel;
class QSlider;
class QToolButton;
class QVBoxLayout;

namespace millrace::gui {

class ChartLink;
class DaemonBridge;
class PlotWidget;
class RunColors;

/// A run whose curves are drawn.
struct BoardRun {
    std::string id;
    QString label;
    double startMs = 0;
    std::int64_t step = 0;  ///< newest; a change reads the run again
    int attempt = 0;
    bool hasEnded = false;
};

class ChartBoard final : public QWidget {
    Q_OBJECT

 public:
    ChartBoard(DaemonBridge& daemon, const RunColors& colors, QWidget* parent);
    ~ChartBoard() override;

    void setRuns(std::vector<BoardRun> runs);
    /// Sets the available metrics. Selected ones stay; without any, the usual ones are selected.
    void setMetrics(const std::vector<std::string>& names);
    void choose(std::vector<std::string> metrics);
    const std::vector<std::string>& chosen() const { return chosen_; }
    /// Forgets every curve (another daemon).
    void clear();
    bool isSettled() const { return numOpen_ == 0 && !refineTimer_.isActive(); }
    /// Call when runs have other looks.
    void looksChanged() { fill(); }
    double smoothing() const;
    /// Without the bar the metrics are selected elsewhere.
    void setBarVisible(bool isVisible) { bar_->setVisible(isVisible); }
    /// One per selected metric, from top to bottom.
    const std::vector<PlotWidget*>& plots() const { return plots_; }
    ChartLink& link() const { return *link_; }

    void save(QSettings& settings) const;
    void restore(QSettings& settings);

 Q_SIGNALS:
    void copied(const QString& sentence);

 protected:
    void showEvent(QShowEvent* event) override;

 private:
    struct Loaded {
        WatchSeries series;
        std::set<std::string> names, onTheWay;
        std::int64_t step = -1;
        int attempt = 0;
        bool hasEnded = false;
        qint64 askedMs = 0;
    };
    void build();
    QWidget* buildBar();
    void connectBar();
    void showPlots();
    PlotWidget* makePlot(const std::string& metric);
    void fill();
    void fillPlot(std::size_t place);
    void refreshState(std::size_t place) const;
    bool isConnected() const;
    void fetch();
    void fetchRun(const BoardRun& run);
    void ask(const BoardRun& run, const std::vector<std::string>& names);
    void refine();
    void refineRun(const BoardRun& run, const WatchSeries& series);
    void openPicker();

    DaemonBridge& daemon_;
    const RunColors& colors_;
    ChartLink* link_;
    std::vector<BoardRun> runs_;
    std::vector<std::string> offered_, chosen_;
    bool isChosenByHand_ = false;
    std::map<std::string, std::unique_ptr<Loaded>> loaded_;
    std::vector<PlotWidget*> plots_;
    std::vector<std::string> plotMetrics_;
    QToolButton *metricButton_ = nullptr, *logButton_ = nullptr;
    QSlider* smoothing_ = nullptr;
    QLabel* smoothingText_ = nullptr;
    QComboBox* axis_ = nullptr;
    QVBoxLayout* column_ = nullptr;
    QWidget* bar_ = nullptr;
    QTimer refineTimer_, againTimer_;
    QElapsedTimer clock_;
    int numOpen_ = 0, epoch_ = 0;
};

}  // namespace millrace::gui

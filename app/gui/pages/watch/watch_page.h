#pragma once
// WatchPage: the present activity: machines, jobs as lanes, live charts of the selected ones, a
// log.
//
// Until the user selects jobs, the active ones are selected (kNumAutoMax at most); a selection
// stays until none of its jobs has a lane. Keys: S stops, L to the log, F follows, 1..9 to a chart,
// J to the jobs, M to the machines.
//
// Threads: the GUI thread. Owns: its models, the feed and the widgets.
#include "app/gui/models/live/lane_model.h"
#include "app/gui/models/live/node_model.h"
#include "app/gui/pages/page.h"
#include "app/gui/pages/watch/watch_feed.h"

class QLabel;
class QSplitter;
class QStackedWidget;
class QVBoxLayout;

namespace millrace::gui {

class Card;
class EmptyState;
class LaneList;
class LogView;
class NodeDeck;
class WatchCharts;
class WatchStop;

class WatchPage final : public Page {
    Q_OBJECT

 public:
    static constexpr int kNumAutoMax = 8;

    WatchPage(const PageContext& context, QWidget* parent);
    ~WatchPage() override;

    PageName name() const override { return PageName::kWatch; }
    std::vector<Command> commands() override;
    void arrive(const Destination& destination) override;
    bool isSettled() const override { return feed_.isSettled(); }
    void saveState(QSettings& settings) const override;
    void restoreState(QSettings& settings) override;

    // For tests.
    LaneModel& lanes() { return lanes_; }
    NodeModel& nodes() { return nodes_; }
    WatchFeed& feed() { return feed_; }
    LaneList* laneList() const { return laneList_; }
    WatchCharts* charts() const { return charts_; }
    EmptyState* emptyState() const { return empty_; }
    bool isEmptyShown() const;
    /// One tick of the clock; a timer calls it twice a second.
    void tick(std::int64_t nowMs);

 protected:
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

 private:
    void build();
    QWidget* buildMain();
    QWidget* buildJobs();
    QWidget* buildCharts();
    QWidget* buildLog();
    QWidget* buildMachines();
    void connectDaemon();
    void connectWidgets();
    void takeRuns(const RunsDelta& delta);
    void takeKnownRuns();
    void takeHistory(const std::string& run, const values::MetricHistory& history);
    void takeRankHistory(const std::string& run, int rank, const values::MetricHistory& history);
    void reset();
    void selectAutomatically();
    void showStrips();
    void chooseLooks();
    void fitTime(std::int64_t nowMs);
    void applySelection();
    void refreshTitles();
    void fitJobs();
    void refreshAway();
    void refreshEmpty();
    void showNothingRuns();
    std::vector<values::RunSummary> selectedRuns() const;
    void stopSelected();
    void resumeSelected();
    void focusNodes();

    NodeModel nodes_;
    LaneModel lanes_;
    WatchFeed feed_;
    WatchStop* stop_ = nullptr;
    QStackedWidget* stack_ = nullptr;
    EmptyState* empty_ = nullptr;
    QSplitter* across_ = nullptr;
    QSplitter* down_ = nullptr;
    Card* runsCard_ = nullptr;
    Card* logCard_ = nullptr;
    QLabel* nodesTitle_ = nullptr;
    LaneList* laneList_ = nullptr;
    WatchCharts* charts_ = nullptr;
    LogView* logView_ = nullptr;
    NodeDeck* nodeDeck_ = nullptr;
    QString emptyKey_;
    bool isAuto_ = true, isSelecting_ = false;
    bool isSized_ = false;  ///< the user moved the border between jobs and charts
};

}  // namespace millrace::gui

#pragma once
// What flows into the page: metrics of the runs that are shown, the log of one of them.
//
// A run that comes into view first gets its stored history, thinned out to what the charts can
// show, then follows from there; when somebody zooms in, detail() asks for the exact points. A run
// that leaves the view is no longer followed and is forgotten.
//
// Threads: the GUI thread. Owns: the followings and the curves. Failure: a history that cannot be
// read is asked for again when the daemon is back; until then what comes live is shown.
#include <QObject>
#include <QTimer>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/charts/parts/chart_content.h"
#include "app/gui/models/live/log_model.h"
#include "app/gui/models/live/watch_series.h"

namespace millrace::gui {

class WatchFeed final : public QObject {
    Q_OBJECT

 public:
    explicit WatchFeed(DaemonBridge& daemon, QObject* parent = nullptr);
    ~WatchFeed() override;

    /// The runs whose metrics are wanted; the others are let go.
    void show(const std::vector<std::string>& runs);
    /// Null where the run is not shown.
    WatchSeries* series(const std::string& run) const;
    /// Points a series are thinned out to: twice the pixels.
    void setPixelWidth(int pixels);
    /// The visible part of the axis: asks for what is there only thinned out.
    void detail(const std::set<std::string>& names, XAxis axis, CurveRange view);
    /// A shown run as it is now: its start, for relative time, and its attempt. A new attempt may
    /// have voided points between the history and the stream: both are begun anew.
    void noteRun(const values::RunSummary& run);

    /// Reads once what is stored of these runs' strips, also of those that are not shown;
    /// historyRead() tells it.
    void showStrips(const std::vector<std::string>& runs);
    /// Reads what is stored of each rank's strip; rankRead() tells it. Of more ranks than the
    /// daemon keeps apart nothing is asked.
    void askRanks(const std::string& run, int numRanks);

    /// The run whose log is wanted; "" for none.
    void showLog(const std::string& run);
    const std::string& logRun() const { return logRun_; }
    LogModel& log() { return log_; }

    void addSample(const values::NodeSample& sample);
    /// Everything shown has its history, and the log its first lines.
    bool isSettled() const;
    std::vector<std::string> metricNames() const;

 Q_SIGNALS:
    /// Names are new, or points were replaced: contents must be made again.
    void curvesChanged();
    /// Points were appended.
    void pointsAdded(const std::string& run);
    void historyRead(const std::string& run, const values::MetricHistory& history);
    void rankRead(const std::string& run, int rank, const values::MetricHistory& history);

 private:
    struct Shown {
        WatchSeries series;
        std::unique_ptr<Following> following;
        std::int64_t startedMs = 0, lastStep = 0;
        std::pair<std::int64_t, std::int64_t> asked;  ///< of the last detail
        int attempt = 0;
        bool isAsking = false;
    };
    void askHistory(const std::string& run);
    void askStrip(const std::string& run);
    void takeHistory(const std::string& run, Result<values::MetricHistory> history);
    void follow(const std::string& run);
    void askDetail(const std::string& run, Shown& shown);
    void clear();
    void linkChanged();

    DaemonBridge& daemon_;
    std::map<std::string, std::unique_ptr<Shown>> shown_;
    enum class Strip { kWanted, kAsked, kRead };
    std::map<std::string, Strip> strips_;
    LogModel log_;
    std::string logRun_;
    std::unique_ptr<Following> logFollowing_;
    bool hasLogAnswer_ = true;
    int maxPoints_ = 2'000;
    QTimer detailTimer_;
    std::set<std::string> detailNames_;
    XAxis detailAxis_ = XAxis::kWallTime;
    CurveRange detailView_;
};

}  // namespace millrace::gui

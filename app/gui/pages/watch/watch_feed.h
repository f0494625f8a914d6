#pragma once
// WatchFeed: the data of the Watch page: metrics of the runs that are shown, and the log of one.
//
// A run that becomes visible first gets its stored history, thinned to what the charts can show,
// and is then followed from there; when the user zooms in, detail() requests the exact points. The
// feed stops following a run that leaves the view, and drops its points.
//
// Threads: the GUI thread. Owns: the followings and the curves. Failure: a history that cannot be
// read is requested again when the daemon is back; until then only live data is shown.
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

    /// Sets the runs whose metrics are followed; others are dropped.
    void show(const std::vector<std::string>& runs);
    /// Null if the run is not shown.
    WatchSeries* series(const std::string& run) const;
    /// Points that a series is thinned to: twice the pixels.
    void setPixelWidth(int pixels);
    /// The visible part of the axis: requests data that is only there thinned.
    void detail(const std::set<std::string>& names, XAxis axis, CurveRange view);
    /// A shown run as it is now: its start, for relative time, and its attempt. A new attempt may
    /// have discarded points between the history and the stream: both are restarted.
    void noteRun(const values::RunSummary& run);

    /// Reads the stored strips of these runs once, also of those that are not shown; emits
    /// historyRead().
    void showStrips(const std::vector<std::string>& runs);
    /// Reads the stored strip of each rank; emits rankRead(). Makes no request if the daemon does
    /// not keep that many ranks apart.
    void askRanks(const std::string& run, int numRanks);

    /// The run whose log is followed; "" for none.
    void showLog(const std::string& run);
    const std::string& logRun() const { return logRun_; }
    LogModel& log() { return log_; }

    void addSample(const values::NodeSample& sample);
    /// Everything shown has its history, and the log its first lines.
    bool isSettled() const;
    std::vector<std::string> metricNames() const;

 Q_SIGNALS:
    /// Names are new, or points were replaced: contents must be rebuilt.
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
        std::pair<std::int64_t, std::int64_t> asked;  ///< for the last detail
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
    int maxPoints_ = 2'000;
    QTimer detailTimer_;
    std::set<std::string> detailNames_;
    XAxis detailAxis_ = XAxis::kWallTime;
    CurveRange detailView_;
};

}  // namespace millrace::gui

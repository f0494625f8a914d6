#pragma once
// StatusLine: the line at the bottom of the window with the number of runs, their total rate,
// updates left out, and the daemon.
//
// Threads: the GUI thread.
#include <QFrame>
#include <cstdint>
#include <map>
#include <string>

#include "app/session/rate_age.h"

class QLabel;

namespace millrace::gui {

class RunTable;

struct RunTotals {
    int numRunning = 0, numQueued = 0, numRuns = 0;  ///< running: also starting and stopping ones
    double samplesPerSecond = 0;                     ///< sum over all running runs
    bool operator==(const RunTotals&) const = default;
};
class StatusLine final : public QFrame {
    Q_OBJECT

 public:
    explicit StatusLine(QWidget* parent = nullptr);
    /// `nowMs`: UTC. An old rate is left out of the sum, as in Watch.
    void setRuns(const RunTable& runs, std::int64_t nowMs);
    /// The number of updates that the bridge left out.
    void setDropped(std::uint64_t updates);
    /// "millraced 0.1.0 on this machine". If not live, the totals are marked as old from then on.
    void setDaemon(const QString& sentence, bool isLive);
    QString totalsText() const;
    QString droppedText() const;

 private:
    RunTotals totalsOf(const RunTable& runs, std::int64_t nowMs);
    void setTotals(const RunTotals& totals);

    std::map<std::string, session::RateAge> ages_;  ///< of running runs, by id
    QLabel *totals_, *dropped_, *daemon_;
    bool isLive_ = true;
};

}  // namespace millrace::gui

#pragma once
// The line at the window's foot: what runs, how fast all of it reads, what was left out, and which
// daemon it is.
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
    double samplesPerSecond = 0;                     ///< of all running runs
    bool operator==(const RunTotals&) const = default;
};
class StatusLine final : public QFrame {
    Q_OBJECT

 public:
    explicit StatusLine(QWidget* parent = nullptr);
    /// `nowMs`: UTC. A rate that is old is left out, as Watch does.
    void setRuns(const RunTable& runs, std::int64_t nowMs);
    /// Updates that the bridge had to leave out.
    void setDropped(std::uint64_t updates);
    /// "millraced 0.1.0 on this machine"; not live: the totals say from then on that they are old.
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

#pragma once
// The line at the window's foot: what runs, how fast all of it reads, what was left out, and which
// daemon it is.
//
// Threads: the GUI thread.
#include <QFrame>
#include <cstdint>
#include <string>

class QLabel;

namespace millrace::gui {

class RunTable;

struct RunTotals {
    int numRunning = 0, numQueued = 0, numRuns = 0;
    double samplesPerSecond = 0;  ///< of all running runs
    bool operator==(const RunTotals&) const = default;
};
/// Running: also starting and stopping ones.
RunTotals totalsOf(const RunTable& runs);

class StatusLine final : public QFrame {
    Q_OBJECT

 public:
    explicit StatusLine(QWidget* parent = nullptr);
    void setTotals(const RunTotals& totals);
    /// Updates that the bridge had to leave out.
    void setDropped(std::uint64_t updates);
    /// "millraced 0.1.0 on this machine"; not live: the totals say from then on that they are old.
    void setDaemon(const QString& sentence, bool isLive);
    QString totalsText() const;
    QString droppedText() const;

 private:
    QLabel *totals_, *dropped_, *daemon_;
    bool isLive_ = true;
};

}  // namespace millrace::gui

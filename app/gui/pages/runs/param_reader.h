#pragma once
// Reads the parameters of the runs that the table has none of yet.
//
// Lists with parameters are large, so they are read only while they are needed: a column shows one,
// the table is sorted by one, or somebody chooses columns. Threads: the GUI thread.
// Failure: none; what could not be read is asked for again at the next change.
#include <QObject>
#include <QTimer>
#include <cstdint>

#include "app/gui/pages/runs/run_pages.h"

namespace millrace::gui {

class RunRows;
class RunTable;

class ParamReader final : public QObject {
    Q_OBJECT

 public:
    /// Into `runs`; `rows` tell which columns are shown.
    ParamReader(DaemonBridge& daemon, RunTable& runs, const RunRows& rows, QObject* parent);

    /// Nothing where no run lacks them, or while they are being read.
    void read();
    /// Only where they are needed.
    void readIfNeeded();
    /// Runs have come: soon.
    void runsChanged();
    /// The daemon was left.
    void drop();
    bool isSettled() const { return !pages_.isReading(); }

 Q_SIGNALS:
    /// The parameters of every run are known.
    void wereRead();

 private:
    bool isNeeded() const;

    RunTable& runs_;
    const RunRows& rows_;
    RunPages pages_;
    QTimer timer_;
    std::uint64_t revision_ = 0;  ///< parameters of runs up to it have been read
};

}  // namespace millrace::gui

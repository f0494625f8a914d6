#pragma once
// DetailReader: reads all details of the selected run, and again when it changes.
//
// An active run changes many times a second: it is read at most every two seconds. Threads: the GUI
// thread. Owns: the newest reply. Failure: the daemon's sentence; the previous reply stays.
#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/values/run_detail.h"

namespace millrace::gui {

class DaemonBridge;

class DetailReader final : public QObject {
    Q_OBJECT

 public:
    DetailReader(DaemonBridge& daemon, QObject* parent);

    /// Selects another run and forgets the previous one's details. "": none.
    void setRun(const std::string& id);
    /// Reads at once. `revision`: the run's revision in the list.
    void read(std::uint64_t revision);
    /// The list has this revision: reads the run again if it differs.
    void runChanged(std::uint64_t revision);
    /// The run is not in the list: makes no requests until it changes again.
    void rest() { timer_.stop(); }
    /// Null before the first reply.
    const values::RunDetail* detail() const { return detail_.get(); }
    bool isReading() const { return isReading_; }

 Q_SIGNALS:
    void wasRead();
    void failed(const QString& sentence);

 private:
    void take(Result<values::RunDetail> reply);

    DaemonBridge& daemon_;
    std::string id_;
    std::unique_ptr<values::RunDetail> detail_;
    std::uint64_t knownRevision_ = 0, readRevision_ = 0;
    bool isReading_ = false;
    QTimer timer_;
    QElapsedTimer sinceRead_;
};

}  // namespace millrace::gui

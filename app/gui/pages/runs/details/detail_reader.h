#pragma once
// Reads everything about the run that is shown, and again as it changes.
//
// A run that goes on changes many times a second: it is read again at most every two seconds.
// Threads: the GUI thread. Owns: the newest reply. Failure: the daemon's sentence; the reply before
// stays.
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

    /// Another run: what was read of the one before is forgotten. "": none.
    void setRun(const std::string& id);
    /// At once. `revision`: what the list knows of the run.
    void read(std::uint64_t revision);
    /// The list knows of this revision: it is read where it is another.
    void runChanged(std::uint64_t revision);
    /// The run is not in the list: nothing is asked until it changes again.
    void rest() { timer_.stop(); }
    /// Null before it came.
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

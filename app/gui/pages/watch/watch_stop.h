#pragma once
// WatchStop: stops and resumes runs: asks first with their names, then reports the result.
//
// Threads: the GUI thread. Owns: nothing. Failure: the daemon's sentence as a notice.
#include <QObject>
#include <functional>
#include <string>
#include <vector>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/pages/page.h"

namespace millrace::gui {

class WatchStop final : public QObject {
    Q_OBJECT

 public:
    WatchStop(DaemonBridge& daemon, QWidget* page);

    /// Asks first; ignores runs that cannot be stopped.
    void stop(const std::vector<values::RunSummary>& runs);
    void resume(const values::RunSummary& run);

 Q_SIGNALS:
    void said(const millrace::gui::Notice& notice);

 private:
    void stopNow(const values::RunSummary& run);

    DaemonBridge& daemon_;
    QWidget* page_;
};

/// "Stop movielens-dlrm / keep-30?" and the sentence below, for one run or several.
struct StopQuestion {
    QString title, sentence, yes;
};
StopQuestion stopQuestion(const std::vector<values::RunSummary>& runs);

}  // namespace millrace::gui

#pragma once
// RunActions: the actions on runs: stop, resume, delete with undo, restore, note, copy, launch
// again unchanged or edited.
//
// Each ends with a notice: the result, or the daemon's sentence. Threads: the GUI thread. Failure:
// a run that refuses (a running one cannot be deleted) is named; the others are done.
#include <QObject>
#include <functional>
#include <string>
#include <vector>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/details/run_repeat.h"
#include "app/gui/pages/page.h"

namespace millrace::gui {

class RunActions final : public QObject {
    Q_OBJECT

 public:
    RunActions(DaemonBridge& daemon, RunTable& runs, QWidget* parent);

    /// Asks first.
    void stop(const std::vector<std::string>& ids);
    void resume(const std::string& id, std::int64_t step);
    /// Deletes at once; the notice offers undo.
    void remove(const std::vector<std::string>& ids);
    /// `label`: the name of a single one; "": as in the table.
    void restore(const std::vector<std::string>& ids, const QString& label = {});
    void copyCommand(const std::string& id);
    void copyResume(const std::string& id, std::int64_t step);
    void copyIds(const std::vector<std::string>& ids);
    /// Launches exactly the same again: asks first, and shows whether the spec hashes are equal.
    void launchAgain(const std::vector<std::string>& ids);
    /// Opens the spec in Launch, with the settings of the run's launch.
    void changeAndLaunch(const std::string& id);
    void watch(const std::vector<std::string>& ids);

 Q_SIGNALS:
    void said(const millrace::gui::Notice& notice);
    void goTo(const millrace::gui::Destination& destination);
    /// Runs were deleted or restored: lists of deleted ones are out of date.
    void deletedChanged();

 private:
    using Call = void (DaemonBridge::*)(const std::string&, QObject*,
                                        DaemonBridge::Done<values::RunSummary>);
    struct Batch {
        std::size_t numOpen = 0;
        std::vector<std::string> done;
        QString error;
    };
    void openRepeat(const std::vector<RunPtr>& runs);
    void change(const RunPtr& run);
    void runAll(const std::vector<std::string>& ids, Call call,
                std::function<void(const Batch&)> onEnd);
    QString labelOf(const std::string& id) const;
    QString labelOf(const std::vector<std::string>& ids) const;
    void say(Notice::Kind kind, const QString& text);
    void copy(const QString& text, const QString& sentence);

    DaemonBridge& daemon_;
    RunTable& runs_;
    QWidget* window_;
};

}  // namespace millrace::gui

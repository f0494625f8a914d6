#pragma once
// RepeatDialog: confirms that runs are launched again, and reports for each whether the new one
// would be the same: its spec hash, and the differences if there are any.
//
// The daemon checks them as at a submit; runs that cannot be launched are left out. Return
// launches, Escape cancels. Threads: the GUI thread. Failure: the daemon's sentence, at its run;
// failed() for a submit that failed.
#include <QDialog>
#include <string>
#include <vector>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/details/run_repeat.h"

class QLabel;
class QPushButton;
class QScrollArea;

namespace millrace::gui {

class MessageStrip;

class RepeatDialog final : public QDialog {
    Q_OBJECT

 public:
    RepeatDialog(DaemonBridge& daemon, const std::vector<RunPtr>& runs, QWidget* parent);

    /// The sentence for each run, in the order of the submits.
    QStringList sentences() const;
    bool isChecked() const { return numOpen_ == 0; }
    QPushButton* launchButton() const { return launch_; }
    QPushButton* changeButton() const { return change_; }

 Q_SIGNALS:
    /// The new runs, and a sentence that names the runs they repeat.
    void launched(const std::vector<std::string>& ids, const QString& sentence);
    void changeAsked(const millrace::gui::RunPtr& run);
    void failed(const QString& sentence);

 private:
    struct Row {
        RunPtr run;
        RepeatVerdict verdict;
        MessageStrip* strip;
    };
    struct Submit {
        RunRepeat repeat;
        std::vector<Row> rows;
        bool isBroken() const;
    };
    void build();
    QWidget* buildRows();
    void fitHeight();
    void check(std::size_t submit);
    void showState();
    int numReady() const;
    void launch();
    void launchFrom(std::size_t submit);
    void took(std::size_t submit, const Result<values::SubmitReply>& reply);
    void finish();

    DaemonBridge& daemon_;
    std::vector<Submit> submits_;
    QLabel* title_ = nullptr;
    QScrollArea* scroll_ = nullptr;
    QPushButton *launch_ = nullptr, *change_ = nullptr;
    int numRuns_ = 0, numOpen_ = 0;
    std::vector<std::string> newIds_;
    QStringList repeated_, differing_, failures_;
};

}  // namespace millrace::gui

#pragma once
// ConsoleApp: owns the objects that live as long as the console: the bridge, the tables it fills,
// and the window.
//
// Threads: the GUI thread. Owns: everything named here. Failure: an unreachable daemon is reported
// as a sentence in the connection bar and never ends the program.
#include <QObject>
#include <QSettings>
#include <memory>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/bridge/daemon_probe.h"
#include "app/gui/bridge/ssh_questions.h"
#include "app/gui/console_options.h"
#include "app/gui/main_window.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/models/spec/spec_document.h"

namespace millrace::gui {

class ConsoleApp final : public QObject {
    Q_OBJECT

 public:
    struct Parts {
        DaemonBridge::MakeClient makeClient;
        MakePage makePage;
        QSettings& settings;
        ThemeControl& theme;
        std::string ownAddress;  ///< of the daemon that is known without being added
        std::function<std::int64_t()> nowMs;
        DaemonBridge::Elsewhere elsewhere = {};  ///< for daemons on other hosts
        SshQuestions* questions = nullptr;       ///< for ssh connections; null: not supported
        /// Called when the user wants a daemon retried, whatever it answered before.
        std::function<void(const std::string& address)> forgive = {};
    };
    ConsoleApp(const Parts& parts, const ConsoleOptions& options);
    ~ConsoleApp() override;

    /// Shows the window, then connects: the first paint does not wait for the daemon.
    void start();
    MainWindow& window() { return *window_; }
    DaemonBridge& daemon() { return bridge_; }
    RunTable& runs() { return runs_; }
    const RunTable& runs() const { return runs_; }
    SpecDocument& spec() { return spec_; }
    KnownDaemons& daemons() { return daemons_; }
    RunColors& colors() { return colors_; }

 private:
    void restore(const ConsoleOptions& options);
    void connectDaemon();
    void connectProbe();
    void connectQuestions();
    void readHosts();
    void probeOthers();
    void takeProbe(const std::string& address);
    void goOn();
    void openSpec();

    Parts parts_;
    KnownDaemons daemons_;
    DaemonBridge bridge_;
    DaemonProbe probe_;
    std::vector<std::string> probed_;
    RunTable runs_;
    RunColors colors_;
    SpecDocument spec_;
    std::unique_ptr<MainWindow> window_;
    PageName firstPage_ = PageName::kRuns;
    std::string specFile_;
    bool isStarted_ = false;
};

}  // namespace millrace::gui

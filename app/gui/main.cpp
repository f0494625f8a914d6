// The program millrace-console: sets up the process (options, signals, TLS files, settings) around
// ConsoleApp.
#include <QApplication>
#include <QSocketNotifier>
#include <QTemporaryDir>
#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include "app/gui/bridge/ssh_questions.h"
#include "app/gui/console_app.h"
#include "app/gui/screenshot.h"
#include "app/gui/widgets/icons.h"
#include "app/session/daemon_door.h"
#include "app/session/host_book.h"
#include "app/session/remote_place.h"
#include "app/ssh/askpass.h"
#include "backend/core/standard_output.h"
#include "backend/filesystem/paths.h"

namespace {

using namespace millrace;

constexpr int kExitFailed = 1, kExitUsage = 2;
int signalPipe[2] = {-1, -1};
QtMessageHandler usualHandler = nullptr;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// A signal handler may call almost nothing: it writes a byte, which the event loop reads.
void onSignal(int) {
    const char byte = 1;
    if (::write(signalPipe[1], &byte, 1) < 0) {
        ::_exit(130);
    }
}

bool installSignals() {
    if (::pipe(signalPipe) != 0) {
        return false;
    }
    for (const int end : signalPipe) {
        if (::fcntl(end, F_SETFD, FD_CLOEXEC) < 0 || ::fcntl(end, F_SETFL, O_NONBLOCK) < 0) {
            return false;
        }
    }
    struct sigaction action{};
    action.sa_handler = onSignal;
    // The second signal ends the process at once.
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGHUP, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    return true;
}

// This process's connections to daemons on other hosts, and the questions that they ask.
class Ways {
 public:
    Ways() : hosts_(settings()), directories_(hosts_) {}

    /// Gives up all waits: the window that could ask is gone.
    void leave() { isLeft_ = true; }

    gui::ConsoleApp::Parts parts(QSettings& kept, gui::ThemeControl& theme,
                                 std::function<std::int64_t()> nowMs) {
        const std::string host = environment("MILLRACE_HOST");
        const std::string book = session::HostBook::defaultPath().value_or("");
        const Result<session::DaemonPlace> own = session::placeOf(host, book);
        gui::ConsoleApp::Parts parts{[this](const std::string& text) { return makeClient(text); },
                                     gui::makePage,
                                     kept,
                                     theme,
                                     host.empty() ? "unix:" + defaultSocketPath()
                                     : own.ok()   ? own->address.text()
                                                  : host,
                                     std::move(nowMs)};
        parts.questions = &questions_;
        parts.elsewhere.baseDir = [this](const std::string& address, const std::string& baseDir) {
            return directories_.standsFor(address, baseDir);
        };
        parts.elsewhere.complete = [this](const std::string& address,
                                          values::SubmitRequest& request) {
            return directories_.complete(address, request);
        };
        parts.forgive = [this](const std::string& text) {
            const Result<Address> address = Address::parse(text);
            if (address.ok() && address->isSsh) {
                hosts_.at(*address).forgive();
            }
        };
        return parts;
    }

 private:
    ssh::Settings settings() const {
        ssh::Settings settings;
        settings.ask = questions_.ask();
        settings.isUnwanted = [this] { return isLeft_.load(); };
        settings.programDirectory = programDirectory();
        settings.ownProgram = programPath();
        settings.searchPath = environment("PATH");
        settings.configFile = environment("MILLRACE_SSH_CONFIG");
        settings.transport = ssh::parseTransport(environment("MILLRACE_SSH_TRANSPORT"))
                                 .value_or(ssh::Transport::kAuto);
        return settings;
    }

    std::unique_ptr<client::DaemonClient> makeClient(const std::string& text) {
        // KnownDaemons has checked addresses already; an empty one gets its own error.
        return session::openClient(
            Address::parse(text).value_or(Address{}), "millrace-console " + gui::consoleVersion(),
            {environment("MILLRACE_TLS_CA"), environment("MILLRACE_TLS_CERT"),
             environment("MILLRACE_TLS_KEY")},
            hosts_);
    }

    std::atomic<bool> isLeft_{false};
    gui::SshQuestions questions_;
    ssh::Hosts hosts_;
    session::DirectoriesThere directories_;
};

// Drops the offscreen platform's warnings that it cannot size, raise or mask a window: they do not
// matter for screenshots. All other messages are passed on.
void tellMessage(QtMsgType type, const QMessageLogContext& context, const QString& message) {
    const bool isRemark = message.startsWith(QLatin1String("This plugin does not support ")) &&
                          QGuiApplication::platformName() == QLatin1String("offscreen");
    if (!isRemark) {
        usualHandler(type, context, message);
    }
}

std::int64_t nowMs() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// Handles options that need no window, such as --help; returns nothing if the window is needed.
std::optional<int> answerAtOnce(const Result<gui::ConsoleOptions>& options) {
    if (!options.ok()) {
        std::cerr << "millrace-console: " << messageOf(options.status()) << '\n';
        return kExitUsage;
    }
    if (options->wantsHelp) {
        return endWithText("millrace-console", gui::consoleHelp()) == 0 ? 0 : kExitFailed;
    }
    if (options->wantsVersion) {
        const std::string text = strCat("millrace-console ", gui::consoleVersion(), "\n");
        return endWithText("millrace-console", text) == 0 ? 0 : kExitFailed;
    }
    return std::nullopt;
}

int runConsole(QApplication& application, const gui::ConsoleOptions& options, QSettings& settings) {
    gui::ThemeControl theme(application);
    Ways ways;
    gui::ConsoleApp app(ways.parts(settings, theme, nowMs), options);
    QSocketNotifier signalled(signalPipe[0], QSocketNotifier::Read);
    QObject::connect(&signalled, &QSocketNotifier::activated, &app, [&] { app.window().close(); });
    std::unique_ptr<gui::Screenshot> screenshot;
    if (!options.screenshotDir.empty()) {
        screenshot = std::make_unique<gui::Screenshot>(
            app, theme, options, [](int code, const std::string& sentence) {
                if (!sentence.empty()) {
                    std::cerr << "millrace-console: " << sentence << '\n';
                }
                QCoreApplication::exit(code);
            });
        screenshot->start();
    } else {
        app.start();
    }
    const int code = QApplication::exec();
    ways.leave();
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    if (const std::optional<int> code = ssh::answerAsAskpass(argc, argv)) {
        return *code;
    }
    const Result<gui::ConsoleOptions> options = gui::parseConsoleOptions({argv + 1, argv + argc});
    if (const std::optional<int> code = answerAtOnce(options)) {
        return *code;
    }
    if (!installSignals()) {
        std::cerr << "millrace-console: cannot make a pipe for signals\n";
        return 1;
    }
    usualHandler = qInstallMessageHandler(tellMessage);
    if (options->scale != 1) {
        qputenv("QT_SCALE_FACTOR", QByteArray::number(options->scale));
    }
    QApplication::setApplicationName(QStringLiteral("millrace-console"));
    QApplication::setDesktopFileName(QStringLiteral("millrace-console"));
    QApplication::setHighDpiScaleFactorRoundingPolicy(
        Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
    int qtArgc = 1;
    QApplication application(qtArgc, argv);
    application.setWindowIcon(gui::applicationIcon());
    if (options->screenshotDir.empty()) {
        QSettings settings(QStringLiteral("millrace"), QStringLiteral("console"));
        return runConsole(application, *options, settings);
    }
    // Screenshots must be the same for every user: no settings are read or changed.
    QTemporaryDir folder;
    QSettings settings(folder.filePath(QStringLiteral("console.ini")), QSettings::IniFormat);
    return runConsole(application, *options, settings);
}

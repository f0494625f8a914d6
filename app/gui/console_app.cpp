#include "app/gui/console_app.h"

#include <QFileInfo>
#include <QTimer>

#include "app/gui/models/run_text.h"

namespace millrace::gui {
namespace {

constexpr int kClockTickMs = 1000;

}  // namespace

ConsoleApp::ConsoleApp(const Parts& parts, const ConsoleOptions& options)
    : parts_(parts),
      daemons_(parts.ownAddress),
      bridge_(parts.makeClient, parts.elsewhere),
      probe_(parts.makeClient) {
    restore(options);
    const WindowParts window{{bridge_, runs_, colors_, spec_},
                             daemons_,
                             parts_.theme,
                             parts_.settings,
                             parts_.makePage,
                             parts_.nowMs};
    connectDaemon();  // before the window: the first delivery is then already in the tables
    window_ = std::make_unique<MainWindow>(window);
    window_->restoreLayout();
    connectProbe();
    connectQuestions();
}

ConsoleApp::~ConsoleApp() = default;

void ConsoleApp::restore(const ConsoleOptions& options) {
    QSettings& settings = parts_.settings;
    daemons_.restore(settings);
    colors_.restore(settings);
    for (const std::string& address : options.connect) {
        const QString text = QString::fromStdString(address);
        const Result<std::string> added = daemons_.add(text);
        // An address that is in the bar already becomes the current one as well.
        daemons_.setCurrent(added.ok() ? *added : address);
    }
    const QString page = settings.value(QStringLiteral("window/page")).toString();
    firstPage_ = options.page.value_or(parsePage(page).value_or(PageName::kRuns));
    const QString theme = settings.value(QStringLiteral("window/theme")).toString();
    parts_.theme.choose(options.theme.value_or(parseTheme(theme).value_or(ThemeChoice::kSystem)));
    specFile_ = options.spec;
}

void ConsoleApp::connectDaemon() {
    connect(&bridge_, &DaemonBridge::switched, this, [this] { runs_.clear(); });
    connect(&bridge_, &DaemonBridge::runsChanged, this, [this](const RunsDelta& delta) {
        runs_.apply(delta.isReset, delta.changed, delta.removed);
        daemons_.heard(bridge_.address(), parts_.nowMs());
    });
    connect(&bridge_, &DaemonBridge::nodeSampled, this,
            [this] { daemons_.heard(bridge_.address(), parts_.nowMs()); });
    connect(&bridge_, &DaemonBridge::linkChanged, this, [this](const session::Link& link) {
        daemons_.setLink(bridge_.address(), link, bridge_.handshake().version);
    });
    connect(&bridge_, &DaemonBridge::retryAsked, this, [this](const std::string& address) {
        if (parts_.forgive) {
            parts_.forgive(address);
        }
    });
    connect(&daemons_, &KnownDaemons::currentChanged, this, [this] {
        if (parts_.questions != nullptr) {
            parts_.questions->setAsked(daemons_.current());
        }
        if (parts_.forgive) {
            parts_.forgive(daemons_.current());
        }
        if (bridge_.address() != daemons_.current()) {
            bridge_.connectTo(daemons_.current());
        }
    });
    auto* clock = new QTimer(this);
    clock->setInterval(kClockTickMs);
    connect(clock, &QTimer::timeout, this, [this] { runs_.setNow(parts_.nowMs()); });
    clock->start();
    runs_.setNow(parts_.nowMs());
}

// The other daemons in the bar are only probed.
void ConsoleApp::connectProbe() {
    connect(&probe_, &DaemonProbe::changed, this,
            [this](const QString& address) { takeProbe(address.toStdString()); });
    connect(&daemons_, &KnownDaemons::changed, this, [this] {
        if (isStarted_) {
            probeOthers();
        }
    });
}

void ConsoleApp::connectQuestions() {
    connect(window_.get(), &MainWindow::hostsWanted, this, &ConsoleApp::readHosts);
    SshQuestions* questions = parts_.questions;
    if (questions == nullptr) {
        return;
    }
    connect(questions, &SshQuestions::changed, this,
            [this, questions] { window_->askAbout(questions->first()); });
    connect(window_.get(), &MainWindow::questionAnswered, questions, &SshQuestions::answer);
    connect(window_.get(), &MainWindow::questionGivenUp, questions, &SshQuestions::giveUp);
}

// An unreadable file offers no hosts; the command line reports the error.
void ConsoleApp::readHosts() {
    bridge_.readHosts(this, [this](Result<DaemonBridge::HostNames> names) {
        if (names.ok()) {
            daemons_.setHosts(std::move(names->named), std::move(names->aliases));
        }
    });
}

void ConsoleApp::probeOthers() {
    std::vector<std::string> others;
    for (const KnownDaemon& daemon : daemons_.all()) {
        if (daemon.address != daemons_.current()) {
            others.push_back(daemon.address);
        }
    }
    if (others != probed_) {
        probed_ = others;
        probe_.setAddresses(others);
    }
}

void ConsoleApp::takeProbe(const std::string& address) {
    const ProbeState state = probe_.state(address);
    if (address == daemons_.current() || state.answer == ProbeState::Answer::kNone) {
        return;
    }
    session::Link link;
    link.state = state.answer == ProbeState::Answer::kReachable ? session::LinkState::kConnected
                 : state.answer == ProbeState::Answer::kRefused ? session::LinkState::kRefused
                                                                : session::LinkState::kReconnecting;
    link.sentence = state.sentence;
    link.sinceMs = state.sinceMs;
    daemons_.setLink(address, link, state.version);
}

void ConsoleApp::start() {
    connect(window_.get(), &MainWindow::painted, this, &ConsoleApp::goOn);
    window_->showPage(firstPage_);
    window_->show();
}

void ConsoleApp::goOn() {
    isStarted_ = true;
    readHosts();
    if (parts_.questions != nullptr) {
        parts_.questions->setAsked(daemons_.current());
    }
    if (!daemons_.current().empty()) {
        bridge_.connectTo(daemons_.current());
    }
    probeOthers();
    openSpec();
    QTimer::singleShot(0, window_.get(), &MainWindow::makeOtherPages);
}

void ConsoleApp::openSpec() {
    if (specFile_.empty()) {
        return;
    }
    const QFileInfo file(QString::fromStdString(specFile_));
    const QString path = file.absoluteFilePath();
    bridge_.readSpecFile(
        path.toStdString(), this,
        [this, path, base = file.absolutePath()](Result<std::string> text) {
            if (text.ok()) {
                spec_.open(QString::fromStdString(*text), path, base);
            } else {
                window_->tell({Notice::Kind::kError, qtext(messageOf(text.status()))});
            }
        });
}

}  // namespace millrace::gui

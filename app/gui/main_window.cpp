#include "app/gui/main_window.h"

#include <QAction>
#include <QApplication>
#include <QCloseEvent>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QLoggingCategory>
#include <QPlainTextEdit>
#include <QScreen>
#include <QStackedWidget>
#include <QTextEdit>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/console_options.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/scrolled_page.h"
#include "app/gui/status_line.h"
#include "app/gui/widgets/notice_stack.h"
#include "app/gui/widgets/shell/connection_bar.h"
#include "app/gui/widgets/shell/question_dialog.h"
#include "app/gui/widgets/shell/side_bar.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

// tests/bench/gui/start_bench reads this category.
Q_LOGGING_CATEGORY(startLog, "millrace.start", QtWarningMsg)

constexpr int kStatusTickMs = 500;

std::size_t placeOf(PageName name) {
    return static_cast<std::size_t>(name);
}

QString titleOf(PageName name) {
    return QCoreApplication::translate("PageName", entryOf(name).title);
}

// The scroll area around a page, whose viewport is the page's parent.
QWidget* areaOf(const Page& page) {
    return page.parentWidget()->parentWidget();
}

// Whether the focus is in a field that takes "?" as a letter.
bool isTyping() {
    const QWidget* focus = QApplication::focusWidget();
    return qobject_cast<const QLineEdit*>(focus) != nullptr ||
           qobject_cast<const QPlainTextEdit*>(focus) != nullptr ||
           qobject_cast<const QTextEdit*>(focus) != nullptr;
}

// Messages of the engine begin in lower case, "the disk is full"; names keep theirs, "r-81 ...".
QString asSentence(QString text) {
    const QString word = text.section(QLatin1Char(' '), 0, 0);
    const bool isPlain = std::ranges::all_of(word, [](QChar c) { return c.isLower(); });
    if (isPlain && word.size() < text.size()) {
        text[0] = text[0].toUpper();
    }
    return text;
}

}  // namespace

MainWindow::MainWindow(const WindowParts& parts) : parts_(parts) {
    setWindowTitle(QStringLiteral("Millrace"));
    setWindowIcon(applicationIcon());
    setCentralWidget(makeContent());
    makeOverlays();
    makeShortcuts();
    connectBar();
    connectDaemon();
    showDaemon();
}

MainWindow::~MainWindow() = default;

QWidget* MainWindow::makeContent() {
    auto* content = new QWidget(this);
    auto* columns = boxIn<QHBoxLayout>(content, 0);
    side_ = new SideBar(content);
    for (const PageEntry& entry : allPages()) {
        side_->addPage(entry.glyph, titleOf(entry.name),
                       tr("Ctrl+%1").arg(placeOf(entry.name) + 1));
    }
    side_->addFootButton(Glyph::kKeyboard, tr("Keys"), tr("Shortcuts  ?"), this,
                         [this] { openShortcuts(); });
    connect(side_, &SideBar::chosen, this,
            [this](int place) { showPage(allPages()[static_cast<std::size_t>(place)].name); });
    columns->addWidget(side_);
    auto* rows = boxIn<QVBoxLayout>(nullptr, 0);
    connections_ = new ConnectionBar(parts_.daemons, parts_.nowMs, content);
    stack_ = new QStackedWidget(content);
    status_ = new StatusLine(content);
    rows->addWidget(connections_);
    rows->addWidget(stack_, 1);
    rows->addWidget(status_);
    columns->addLayout(rows, 1);
    return content;
}

void MainWindow::makeOverlays() {
    notices_ = new NoticeStack(stack_);
    palette_ = new CommandPalette(this);
    sheet_ = new ShortcutSheet(this);
    questions_ = new QuestionDialog(this);
    connect(questions_, &QuestionDialog::answered, this, &MainWindow::questionAnswered);
    connect(questions_, &QuestionDialog::givenUp, this, &MainWindow::questionGivenUp);
}

void MainWindow::addShortcut(const QKeySequence& key, std::function<void()> run) {
    auto* action = new QAction(this);
    action->setShortcut(key);
    action->setShortcutContext(Qt::WindowShortcut);
    connect(action, &QAction::triggered, this, std::move(run));
    addAction(action);
}

void MainWindow::makeShortcuts() {
    for (const Command& command : ownCommands()) {
        // keyPressEvent() handles "?", so that fields can take it as a letter.
        if (!command.key.isEmpty() && command.key != QKeySequence(QStringLiteral("?"))) {
            addShortcut(command.key, command.run);
        }
    }
}

void MainWindow::connectBar() {
    connect(connections_, &ConnectionBar::paletteAsked, this, [this] { openPalette(); });
    connect(connections_, &ConnectionBar::themeAsked, this, [this] { parts_.theme.toggle(); });
    connect(connections_, &ConnectionBar::retryAsked, this,
            [this] { parts_.pages.daemon.retryNow(); });
    connect(connections_, &ConnectionBar::addingStarted, this, &MainWindow::hostsWanted);
    connect(connections_, &ConnectionBar::said, this,
            [this](const QString& sentence) { tell({Notice::Kind::kDone, sentence}); });
}

void MainWindow::connectDaemon() {
    DaemonBridge& daemon = parts_.pages.daemon;
    connect(&daemon, &DaemonBridge::linkChanged, this, [this] { showDaemon(); });
    connect(&parts_.daemons, &KnownDaemons::changed, this, &MainWindow::showDaemon);
    // In step with the lanes, so that both show the same.
    connect(&daemon, &DaemonBridge::runsChanged, this, &MainWindow::refreshStatus);
    auto* tick = new QTimer(this);
    tick->setInterval(kStatusTickMs);
    connect(tick, &QTimer::timeout, this, &MainWindow::refreshStatus);
    tick->start();
}

void MainWindow::refreshStatus() {
    status_->setRuns(parts_.pages.runs, parts_.nowMs());
    status_->setDropped(parts_.pages.daemon.droppedUpdates());
}

void MainWindow::showDaemon() {
    const KnownDaemon* daemon = parts_.daemons.currentDaemon();
    const bool isLive = parts_.pages.daemon.link().state == session::LinkState::kConnected;
    QString sentence;
    if (daemon != nullptr && isLive) {
        sentence = tr("millraced %1, %2")
                       .arg(qtext(parts_.pages.daemon.handshake().version), qtext(daemon->address));
    } else if (daemon != nullptr) {
        sentence = stateWord(*daemon) + QLatin1String(", ") + qtext(daemon->address);
    }
    status_->setDaemon(sentence, isLive);
    setWindowTitle(
        daemon == nullptr
            ? QStringLiteral("Millrace")
            : tr("%1 \u2013 %2 \u2013 Millrace").arg(titleOf(current_), shortName(*daemon)));
    refreshStatus();
}

Page& MainWindow::page(PageName name) {
    Page*& place = pages_[placeOf(name)];
    if (place == nullptr) {
        place = parts_.makePage(name, parts_.pages).release();
        auto* area = new ScrolledPage(place, stack_);
        stack_->addWidget(area);
        connect(place, &Page::goTo, this, &MainWindow::goTo);
        connect(place, &Page::said, this, &MainWindow::tell);
        parts_.settings.beginGroup(nameOf(name));
        place->restoreState(parts_.settings);
        parts_.settings.endGroup();
        notices_->raise();
    }
    return *place;
}

void MainWindow::makeOtherPages() {
    for (const PageEntry& entry : allPages()) {
        const PageName name = entry.name;
        if (pages_[placeOf(name)] == nullptr) {
            page(name);
            QTimer::singleShot(0, this, &MainWindow::makeOtherPages);
            return;
        }
    }
}

void MainWindow::showPage(PageName name) {
    Page& shown = page(name);
    palette_->dismiss();
    sheet_->dismiss();
    QWidget* inside = shown.focusWidget();
    current_ = name;
    stack_->setCurrentIndex(stack_->indexOf(areaOf(shown)));
    side_->setCurrent(static_cast<int>(placeOf(name)));
    showDaemon();
    notices_->place();
    if (inside != nullptr) {
        inside->setFocus(Qt::OtherFocusReason);
    } else if (shown.focusPolicy() != Qt::NoFocus) {
        shown.setFocus(Qt::OtherFocusReason);
    }
}

void MainWindow::goTo(const Destination& destination) {
    showPage(destination.page);
    page(destination.page).arrive(destination);
}

void MainWindow::tell(const Notice& notice) {
    notices_->add({notice.kind, asSentence(notice.text), notice.actionText, notice.action});
}

std::vector<Command> MainWindow::ownCommands() {
    std::vector<Command> commands;
    for (const PageEntry& entry : allPages()) {
        const PageName name = entry.name;
        commands.push_back({tr("Go to %1").arg(titleOf(name)),
                            QKeySequence(tr("Ctrl+%1").arg(placeOf(name) + 1)),
                            [this, name] { showPage(name); }});
    }
    const auto add = [&](const QString& title, const char* key, std::function<void()> run) {
        commands.push_back({title, QKeySequence(QString::fromLatin1(key)), std::move(run)});
    };
    add(tr("Find a command"), "Ctrl+Shift+P", [this] { openPalette(); });
    add(tr("Show the shortcuts"), "?", [this] { openShortcuts(); });
    add(tr("Add a daemon"), "Ctrl+Shift+A", [this] { connections_->startAdding(); });
    add(tr("Try the connection now"), "Ctrl+Shift+R", [this] { parts_.pages.daemon.retryNow(); });
    add(tr("Do what the newest notice offers (undo)"), "Ctrl+Shift+U", [this] {
        if (ToastCard* card = notices_->newestAction()) {
            card->act();
        }
    });
    add(tr("Close the newest notice"), "Ctrl+Shift+X", [this] { notices_->closeNewest(); });
    add(tr("Switch between dark and light"), "Ctrl+Shift+T", [this] { parts_.theme.toggle(); });
    add(tr("Settings: dark theme"), "", [this] { parts_.theme.choose(ThemeChoice::kDark); });
    add(tr("Settings: light theme"), "", [this] { parts_.theme.choose(ThemeChoice::kLight); });
    add(tr("Settings: theme as the desktop"), "",
        [this] { parts_.theme.choose(ThemeChoice::kSystem); });
    add(tr("Full screen"), "F11", [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
    add(tr("Quit"), "Ctrl+Q", [this] { close(); });
    return commands;
}

std::vector<PageCommands> MainWindow::allCommands() {
    std::vector<PageCommands> all{{titleOf(current_), page(current_).commands()}};
    for (const PageEntry& entry : allPages()) {
        const PageName name = entry.name;
        if (name != current_) {
            // A command of another page first brings that page to the front.
            PageCommands other{titleOf(name), page(name).commands()};
            for (Command& command : other.commands) {
                command.run = [this, name, run = command.run] {
                    showPage(name);
                    run();
                };
            }
            all.push_back(std::move(other));
        }
    }
    all.insert(all.begin() + 1, {tr("Window"), ownCommands()});
    return all;
}

void MainWindow::openPalette(const QString& query) {
    sheet_->dismiss();
    CommandSources sources{allCommands(), &parts_.pages.runs, &parts_.daemons, {}, {}};
    sources.openRun = [this](const std::string& id) { goTo({PageName::kRuns, {id}}); };
    sources.openDaemon = [this](const std::string& address) { parts_.daemons.setCurrent(address); };
    palette_->openWith(paletteEntries(sources), query);
}

void MainWindow::openShortcuts() {
    palette_->dismiss();
    sheet_->openWith(shortcutGroups(allCommands()));
}

void MainWindow::askAbout(const std::optional<SshQuestion>& question) {
    if (question.has_value()) {
        palette_->dismiss();
        sheet_->dismiss();
        questions_->present(*question);
    } else {
        questions_->withdraw();
    }
}

void MainWindow::savePage(const Page& page) const {
    parts_.settings.beginGroup(nameOf(page.name()));
    page.saveState(parts_.settings);
    parts_.settings.endGroup();
}

void MainWindow::saveState() const {
    QSettings& settings = parts_.settings;
    settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
    settings.setValue(QStringLiteral("window/page"), nameOf(current_));
    settings.setValue(QStringLiteral("window/theme"), nameOf(parts_.theme.choice()));
    for (const Page* page : pages_) {
        if (page != nullptr) {
            savePage(*page);
        }
    }
    parts_.pages.colors.save(settings);
    parts_.daemons.save(settings);
}

void MainWindow::restoreLayout() {
    if (!restoreGeometry(parts_.settings.value(QStringLiteral("window/geometry")).toByteArray())) {
        const QSize room = screen()->availableSize();
        resize(std::min(1440, room.width() * 9 / 10), std::min(900, room.height() * 9 / 10));
    }
}

void MainWindow::closeEvent(QCloseEvent* event) {
    saveState();
    event->accept();
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
    if (event->text() == QLatin1String("?") && !isTyping()) {
        openShortcuts();
        return;
    }
    // Single keys belong to the page, even while the focus is in the top bar.
    Page& shown = page(current_);
    const QWidget* focus = QApplication::focusWidget();
    if (isHandingOn_ || isTyping() || focus == &shown || shown.isAncestorOf(focus)) {
        QMainWindow::keyPressEvent(event);
        return;
    }
    isHandingOn_ = true;  // a key that the page ignores comes back here
    QCoreApplication::sendEvent(&shown, event);
    isHandingOn_ = false;
}

bool MainWindow::event(QEvent* event) {
    const bool isTaken = QMainWindow::event(event);
    if (event->type() == QEvent::Paint && !hasPainted_) {
        hasPainted_ = true;
        // After the children's first paint.
        QTimer::singleShot(0, this, [this] {
            qCDebug(startLog) << "painted";
            Q_EMIT painted();
        });
    }
    return isTaken;
}

}  // namespace millrace::gui

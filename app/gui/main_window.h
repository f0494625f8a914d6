#pragma once
// MainWindow: side bar, connection bar, the pages, status line, notices, palette and shortcut
// sheet.
//
// Pages are made when they are first shown, or one by one after the first paint. The window only
// forwards: pages request navigation and notices, the bridge reports runs. It makes no decision
// about runs. Threads: the GUI thread. Owns: its widgets and pages; all that WindowParts refers to
// outlives it.
#include <QMainWindow>
#include <QPointer>
#include <functional>
#include <optional>
#include <vector>

#include "app/gui/console_pages.h"
#include "app/gui/models/known_daemons.h"
#include "app/gui/models/ssh_question.h"
#include "app/gui/shell_commands.h"

class QStackedWidget;

namespace millrace::gui {

class ConnectionBar;
class NoticeStack;
class QuestionDialog;
class SideBar;
class StatusLine;
class ThemeControl;

struct WindowParts {
    PageContext pages;
    KnownDaemons& daemons;
    ThemeControl& theme;
    QSettings& settings;
    MakePage makePage;
    std::function<std::int64_t()> nowMs;  ///< UTC
};

class MainWindow final : public QMainWindow {
    Q_OBJECT

 public:
    explicit MainWindow(const WindowParts& parts);
    ~MainWindow() override;

    void showPage(PageName name);
    PageName currentPage() const { return current_; }
    /// Makes the page if it does not exist yet.
    Page& page(PageName name);
    /// Makes the pages that were not opened yet, one per turn of the event loop.
    void makeOtherPages();
    void goTo(const Destination& destination);
    void tell(const Notice& notice);
    void openPalette(const QString& query = {});
    void openShortcuts();
    /// Asks it in a dialog; without a question closes the dialog.
    void askAbout(const std::optional<SshQuestion>& question);
    void saveState() const;
    void restoreLayout();

    ConnectionBar& connectionBar() const { return *connections_; }
    StatusLine& statusLine() const { return *status_; }
    NoticeStack& notices() const { return *notices_; }
    CommandPalette& commandPalette() const { return *palette_; }
    ShortcutSheet& shortcuts() const { return *sheet_; }
    QuestionDialog& questions() const { return *questions_; }

 Q_SIGNALS:
    void painted();  ///< for the first time
    void hostsWanted();
    void questionAnswered(std::uint64_t id, const QString& text);
    void questionGivenUp(std::uint64_t id);

 protected:
    void closeEvent(QCloseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

 private:
    QWidget* makeContent();
    void makeOverlays();
    void makeShortcuts();
    void addShortcut(const QKeySequence& key, std::function<void()> run);
    void connectBar();
    void connectDaemon();
    void refreshStatus();
    void showDaemon();
    std::vector<Command> ownCommands();
    std::vector<PageCommands> allCommands();
    void savePage(const Page& page) const;

    WindowParts parts_;
    SideBar* side_ = nullptr;
    ConnectionBar* connections_ = nullptr;
    QStackedWidget* stack_ = nullptr;
    StatusLine* status_ = nullptr;
    NoticeStack* notices_ = nullptr;
    CommandPalette* palette_ = nullptr;
    ShortcutSheet* sheet_ = nullptr;
    QuestionDialog* questions_ = nullptr;
    std::vector<Page*> pages_ = std::vector<Page*>(allPages().size());
    PageName current_ = PageName::kRuns;
    bool hasPainted_ = false, isHandingOn_ = false;
};

}  // namespace millrace::gui

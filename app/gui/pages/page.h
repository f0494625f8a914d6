#pragma once
// Page: base of the console's pages, one for each noun of the side bar.
//
// Pages know models, charts, widgets and the bridge, but not each other: a link to another page is
// a Destination that the window follows. Threads: the GUI thread.
#include <QKeySequence>
#include <QSettings>
#include <QString>
#include <QWidget>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/widgets/notice_stack.h"
#include "backend/values/run_detail.h"

namespace millrace::gui {

class DaemonBridge;
class RunTable;
class RunColors;
class SpecDocument;

/// Shared by all pages; outlives them.
struct PageContext {
    DaemonBridge& daemon;
    RunTable& runs;      ///< every run of the daemon, kept up to date by the window
    RunColors& colors;   ///< one look per run, the same on every page
    SpecDocument& spec;  ///< the open spec, shared by Launch and Data
};

enum class PageName { kWatch, kRuns, kLaunch, kData };

/// The page to open, and its content.
struct Destination {
    PageName page = PageName::kRuns;
    std::vector<std::string> runIds{};  ///< to be selected there
    /// If not null: opens its spec in Launch, with the settings of its launch.
    std::shared_ptr<const values::RunDetail> changed{};
};

/// An entry of the command palette and of the shortcut sheet.
struct Command {
    QString title;     ///< "Stop the selected run"
    QKeySequence key;  ///< shown beside it; the page handles it itself
    std::function<void()> run;
    bool isEnabled = true;
};

class Page : public QWidget {
    Q_OBJECT

 public:
    Page(const PageContext& context, QWidget* parent) : QWidget(parent), context_(context) {}

    virtual PageName name() const = 0;
    /// Called each time the palette opens.
    virtual std::vector<Command> commands() { return {}; }
    /// Follows a destination with this page's name.
    virtual void arrive(const Destination&) {}
    /// True if no request is pending that would change the page (a screenshot waits for it).
    virtual bool isSettled() const { return true; }
    virtual void saveState(QSettings&) const {}
    virtual void restoreState(QSettings&) {}

 Q_SIGNALS:
    void goTo(const millrace::gui::Destination& destination);
    void said(const millrace::gui::Notice& notice);

 protected:
    const PageContext& context() const { return context_; }
    /// Runs `run` when the key is pressed inside `where`, which is the page or a part of it.
    void addKey(const QKeySequence& key, QWidget* where, std::function<void()> run);

 private:
    const PageContext context_;
};

}  // namespace millrace::gui

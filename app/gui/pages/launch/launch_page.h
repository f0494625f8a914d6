#pragma once
// LaunchPage: a spec in an editor, its variations as a sheet, and the bar that launches them.
//
// The open spec is PageContext::spec, shared with Data; this page has it checked: at once by the
// reader (spec_checker.h) and, when typing pauses, by the daemon. Threads: the GUI thread. Failure:
// every message is shown in place: in the editor, in the sheet's cell, or below the path.
#include <QTimer>
#include <vector>

#include "app/gui/bridge/spec_checker.h"
#include "app/gui/models/sheet/sheet_model.h"
#include "app/gui/pages/launch/launch_bar.h"
#include "app/gui/pages/launch/launch_previews.h"
#include "app/gui/pages/launch/spec_files.h"
#include "app/gui/pages/page.h"
#include "app/gui/widgets/yaml/yaml_editor.h"
#include "backend/values/inspection.h"

class QSplitter;
class QStackedWidget;
class QVBoxLayout;

namespace millrace::gui {

class EditorPanel;
class SheetPanel;
class SpecBar;

class LaunchPage final : public Page {
    Q_OBJECT

 public:
    explicit LaunchPage(const PageContext& context, QWidget* parent = nullptr);
    ~LaunchPage() override;

    PageName name() const override { return PageName::kLaunch; }
    std::vector<Command> commands() override;
    void arrive(const Destination& destination) override;
    bool isSettled() const override;
    void saveState(QSettings& settings) const override;
    void restoreState(QSettings& settings) override;

    /// Reads the file off the GUI thread and opens it; the previous document stays in the list of
    /// recent ones.
    void openFile(const QString& path) { files_.open(path); }

 protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

 private:
    void buildWork();
    QWidget* buildEmpty();
    void fillRecent();
    void connectFiles();
    void connectText();
    void connectLaunch();
    void connectKeys();

    // The document
    /// Opens its spec, with its overrides, variation, project and tags.
    void openRun(const std::shared_ptr<const values::RunDetail>& run);
    void showDocument();
    void newSpec();
    void chooseFile();
    void save();
    void saveAs();
    void say(Notice::Kind kind, const QString& text) { Q_EMIT said({kind, text}); }

    // Checking
    bool isConnected() const;
    void readText();
    void askDaemon();
    void takeReply(int revision, const Result<values::CheckReply>& reply);
    void showProblems();

    // Launching
    QStringList ticked() const { return sheet_.tickedNames(); }
    /// Errors in ticked rows: those of other variations do not block the launch.
    int numBlocking() const { return gui::numBlocking(errors_, ticked()); }
    void showSummary();
    void launch();
    values::SubmitRequest request() const;
    void launched(Result<values::SubmitReply> reply);
    void refusedBy(const values::SubmitReply& reply);
    void copyCommand();
    void moveFocus(int direction);

    SpecFiles files_;
    SpecChecker checker_;
    SheetModel sheet_;
    LaunchPreviews previews_;
    QStackedWidget* stack_;
    QVBoxLayout* recentList_ = nullptr;
    SpecBar* bar_ = nullptr;
    QSplitter* splitter_ = nullptr;
    EditorPanel* panel_ = nullptr;
    YamlEditor* editor_ = nullptr;
    SheetPanel* sheetPanel_ = nullptr;
    LaunchBar* launchBar_ = nullptr;
    QTimer readTimer_, daemonTimer_;
    std::vector<values::SpecError> localErrors_;
    QString daemonTrouble_;
    std::vector<values::SpecError> errors_;
    int numAsked_ = 0, askedRevision_ = -1;
    bool isStarted_ = false, isLaunching_ = false, isShowing_ = false;
};

}  // namespace millrace::gui

#pragma once
// The parts of the Launch page, and the connections between them. Private to this folder.
#include <QObject>
#include <QTimer>
#include <vector>

#include "app/gui/bridge/spec_checker.h"
#include "app/gui/models/sheet/sheet_model.h"
#include "app/gui/pages/launch/launch_bar.h"
#include "app/gui/pages/launch/launch_page.h"
#include "app/gui/pages/launch/launch_previews.h"
#include "app/gui/pages/launch/spec_files.h"
#include "app/gui/widgets/yaml/yaml_editor.h"
#include "backend/core/status.h"
#include "backend/values/inspection.h"

class QSplitter;
class QStackedWidget;
class QVBoxLayout;

namespace millrace::gui {

class EditorPanel;
class LaunchBar;
class SheetPanel;
class SpecBar;

class LaunchPage::Parts final : public QObject {
 public:
    Parts(LaunchPage& page, const PageContext& context);
    ~Parts() override;

    QWidget* widget() const;
    std::vector<Command> commands();
    void openFile(const QString& path) { files_.open(path); }
    void openText(const QString& text, const QString& baseDir);
    /// Opens its spec, with its overrides, variation, project and tags.
    void openRun(const std::shared_ptr<const values::RunDetail>& run);
    void focusEditor();
    bool isSettled() const;
    void setInSight(bool isInSight) { previews_.setInSight(isInSight); }
    void saveState(QSettings& settings) const;
    void restoreState(QSettings& settings);

 protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

 private:
    void buildWork();
    QWidget* buildEmpty();
    void fillRecent();
    void connectFiles();
    void connectText();
    void connectLaunch();
    void connectKeys();

    // The document
    void showDocument();
    void textChanged();
    void newSpec();
    void chooseFile();
    void save();
    void saveAs();
    void say(Notice::Kind kind, const QString& text);

    // Checking
    bool isConnected() const;
    void readText();
    void askDaemon();
    void takeReply(int revision, const Result<values::CheckReply>& reply);
    void showProblems();

    // Launching
    QStringList ticked() const;
    /// Errors in ticked rows: those of other variations do not block the launch.
    int numBlocking() const { return gui::numBlocking(errors_, ticked()); }
    void showSummary();
    void launch();
    values::SubmitRequest request() const;
    void launched(Result<values::SubmitReply> reply);
    void refusedBy(const values::SubmitReply& reply);
    void copyCommand();
    void moveFocus(int direction);

    LaunchPage& page_;
    PageContext context_;
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
    int localRevision_ = -1, numAsked_ = 0, askedRevision_ = -1;
    bool isStarted_ = false, isLaunching_ = false, isShowing_ = false;
};

}  // namespace millrace::gui

#include "app/gui/pages/launch/launch_page.h"

#include <QClipboard>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMimeData>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/details/run_cli.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/pages/launch/editor_panel.h"
#include "app/gui/pages/launch/sheet_panel.h"
#include "app/gui/pages/launch/spec_bar.h"
#include "app/gui/pages/launch/spec_template.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kReadMs = 30;     // pause in typing before the reader in this process checks the text
constexpr int kDaemonMs = 250;  // and before the daemon does, which reads footers, too

}  // namespace

LaunchPage::LaunchPage(const PageContext& context, QWidget* parent)
    : Page(context, parent),
      files_(context.daemon, context.spec, this),
      previews_(context.daemon),
      stack_(new QStackedWidget(this)) {
    boxIn<QVBoxLayout>(this)->addWidget(stack_);
    stack_->addWidget(buildEmpty());
    buildWork();
    readTimer_.setSingleShot(true);
    readTimer_.setInterval(kReadMs);
    daemonTimer_.setSingleShot(true);
    daemonTimer_.setInterval(kDaemonMs);
    connectFiles();
    connectText();
    connectLaunch();
    connectKeys();
    setAcceptDrops(true);
    showDocument();
    fillRecent();
}

// Disconnects before it deletes the widgets: a field that loses the focus then emits its text.
LaunchPage::~LaunchPage() {
    for (QObject* speaker :
         std::initializer_list<QObject*>{&context().spec, &context().daemon, &files_, &sheet_,
                                         &previews_, bar_, editor_, launchBar_}) {
        speaker->disconnect(this);
    }
    QObject::disconnect(&sheet_, nullptr, sheetPanel_, nullptr);
    delete stack_;
}

QWidget* LaunchPage::buildEmpty() {
    auto* holder = new QWidget(stack_);
    auto* layout = new QVBoxLayout(holder);
    auto* empty = new EmptyState(holder);
    empty->setText(tr("No spec is open"),
                   tr("A spec says which rows are read, what is made of them and what is "
                      "trained. Open a file, drop one here, paste its text (Ctrl+V), or "
                      "begin with the example."));
    empty->addButton(tr("Open a file\u2026"), this, [this] { chooseFile(); });
    empty->addButton(tr("New from the example"), this, [this] { newSpec(); });
    layout->addStretch(2);
    layout->addWidget(empty);
    recentList_ = new QVBoxLayout;
    recentList_->setAlignment(Qt::AlignHCenter);
    layout->addLayout(recentList_);
    layout->addStretch(3);
    return holder;
}

void LaunchPage::fillRecent() {
    while (QLayoutItem* item = recentList_->takeAt(0)) {
        if (item->widget() != nullptr) {
            item->widget()->deleteLater();
        }
        delete item;
    }
    QWidget* holder = stack_->widget(0);
    if (!files_.recent().isEmpty()) {
        auto* title = styled<QLabel>("caption", tr("Recent"), holder);
        recentList_->addWidget(title, 0, Qt::AlignHCenter);
    }
    for (const QString& path : files_.recent().mid(0, 6)) {
        auto* button = styled<QPushButton>("flat", holder);
        button->setText(holder->fontMetrics().elidedText(path, Qt::ElideMiddle, 520));
        button->setToolTip(path);
        connect(button, &QPushButton::clicked, this, [this, path] { files_.open(path); });
        recentList_->addWidget(button, 0, Qt::AlignHCenter);
    }
    QStringList drafts;
    for (const SpecFiles::Draft& draft : files_.drafts()) {
        drafts << draft.title;
    }
    bar_->showRecent(files_.recent(), drafts);
}

void LaunchPage::buildWork() {
    auto* work = new QWidget(stack_);
    auto* layout = boxIn<QVBoxLayout>(work, 0);
    bar_ = new SpecBar(work);
    splitter_ = new QSplitter(Qt::Vertical, work);
    panel_ = new EditorPanel(splitter_);
    editor_ = panel_->editor();
    sheetPanel_ = new SheetPanel(&sheet_, splitter_);
    splitter_->addWidget(panel_);
    splitter_->addWidget(sheetPanel_);
    splitter_->setStretchFactor(0, 3);
    splitter_->setStretchFactor(1, 2);
    splitter_->setChildrenCollapsible(false);
    launchBar_ = new LaunchBar(work);
    layout->addWidget(bar_);
    layout->addWidget(splitter_, 1);
    layout->addWidget(launchBar_);
    stack_->addWidget(work);
}

void LaunchPage::connectFiles() {
    connect(bar_, &SpecBar::openWanted, this, [this](const QString& path) { files_.open(path); });
    connect(bar_, &SpecBar::chooseWanted, this, [this] { chooseFile(); });
    connect(bar_, &SpecBar::newWanted, this, [this] { newSpec(); });
    connect(bar_, &SpecBar::saveWanted, this, [this] { save(); });
    connect(bar_, &SpecBar::draftWanted, this, [this](int index) { files_.openDraft(index); });
    connect(bar_, &SpecBar::baseDirGiven, this,
            [this](const QString& path) { context().spec.setBaseDir(path); });
    connect(bar_, &SpecBar::reloadWanted, this, [this] { files_.reload(); });
    connect(bar_, &SpecBar::keepWanted, this, [this] { files_.keepMine(); });
    connect(&files_, &SpecFiles::failed, this,
            [this](const QString& text) { say(Notice::Kind::kError, text); });
    connect(&files_, &SpecFiles::saved, this, [this](const QString& path) {
        say(Notice::Kind::kDone, tr("Saved %1").arg(QFileInfo(path).fileName()));
    });
    connect(&files_, &SpecFiles::diskChanged, this, [this](bool is) { bar_->showDisk(is); });
    connect(&files_, &SpecFiles::recentChanged, this, [this] { fillRecent(); });
    connect(&files_, &SpecFiles::draftKept, this, [this](const QString& title) {
        Notice notice;
        notice.text = tr("%1 was not saved; it is kept under Recent.").arg(title);
        notice.actionText = tr("Undo");
        notice.action = [this] { files_.openDraft(0); };
        Q_EMIT said(notice);
    });
}

void LaunchPage::connectText() {
    SpecDocument& document = context().spec;
    connect(editor_, &QPlainTextEdit::textChanged, this, [this] {
        if (!isShowing_) {
            context().spec.setText(editor_->text());
        }
    });
    connect(editor_, &YamlEditor::refused, this,
            [this](const QString& text) { say(Notice::Kind::kError, text); });
    connect(editor_, &YamlEditor::fileDropped, this,
            [this](const QString& path) { files_.open(path); });
    connect(&document, &SpecDocument::opened, this, [this] {
        isShowing_ = true;  // until then a changed text is not the user's doing
        editor_->open(context().spec.text());
        isShowing_ = false;
        launchBar_->dropFilled();
        localErrors_.clear();
        isStarted_ = isStarted_ || !context().spec.isEmpty();
        if (isStarted_ && isVisible()) {
            stack_->setCurrentIndex(1);
            editor_->setFocus();
        }
    });
    connect(&document, &SpecDocument::changed, this, [this] {
        showDocument();
        readTimer_.start();
        daemonTimer_.start();
    });
    connect(&document, &SpecDocument::checked, this, [this] { showProblems(); });
    connect(&readTimer_, &QTimer::timeout, this, [this] { readText(); });
    connect(&daemonTimer_, &QTimer::timeout, this, [this] { askDaemon(); });
    connect(&checker_, &SpecChecker::checked, this,
            [this](int /*revision*/, const LocalCheck& check) {
                localErrors_ = check.errors;
                showProblems();
            });
    connect(&sheet_, &SheetModel::textEdits, this, [this](const TextEdits& edits, const QString&) {
        editor_->apply(edits);  // the editor has the text, and so the undo history
        readText();
    });
    connect(&context().daemon, &DaemonBridge::linkChanged, this, [this] { daemonTimer_.start(); });
    connect(&context().daemon, &DaemonBridge::switched, this, [this] { previews_.forget(); });
    connect(&previews_, &LaunchPreviews::changed, this,
            [this] { sheet_.setPreviews(previews_.previews()); });
}

void LaunchPage::connectLaunch() {
    connect(&sheet_, &SheetModel::ticksChanged, this, [this] { showSummary(); });
    connect(launchBar_, &LaunchBar::setsChanged, this,
            [this] { context().spec.setSets(*launchBar_->sets()); });
    connect(launchBar_, &LaunchBar::launchWanted, this, [this] { launch(); });
    connect(launchBar_, &LaunchBar::copyWanted, this, [this] { copyCommand(); });
}

void LaunchPage::connectKeys() {
    const auto addPageKey = [this](const QKeySequence& key, std::function<void()> run) {
        addKey(key, this, std::move(run));
    };
    addPageKey(QKeySequence(Qt::CTRL | Qt::Key_S), [this] { save(); });
    addPageKey(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S), [this] { saveAs(); });
    addPageKey(QKeySequence(Qt::CTRL | Qt::Key_O), [this] { chooseFile(); });
    addPageKey(QKeySequence(Qt::CTRL | Qt::Key_N), [this] { newSpec(); });
    addPageKey(QKeySequence(Qt::CTRL | Qt::Key_L), [this] { bar_->focusPath(); });
    addPageKey(QKeySequence(Qt::CTRL | Qt::Key_F), [this] { panel_->openFind(); });
    addPageKey(QKeySequence(Qt::CTRL | Qt::Key_Return), [this] { launch(); });
    addPageKey(QKeySequence(Qt::CTRL | Qt::Key_Enter), [this] { launch(); });
    addPageKey(QKeySequence(Qt::Key_F8), [this] { editor_->goToNextProblem(1); });
    addPageKey(QKeySequence(Qt::SHIFT | Qt::Key_F8), [this] { editor_->goToNextProblem(-1); });
    addPageKey(QKeySequence(Qt::Key_F6), [this] { moveFocus(1); });
    addPageKey(QKeySequence(Qt::SHIFT | Qt::Key_F6), [this] { moveFocus(-1); });
    addKey(QKeySequence::Paste, stack_->widget(0), [this] {
        files_.openText(QGuiApplication::clipboard()->text(), context().spec.baseDir());
        editor_->setFocus();
    });
    for (const auto& [key, isUndo] :
         {std::pair(QKeySequence::Undo, true), std::pair(QKeySequence::Redo, false)}) {
        addKey(key, sheetPanel_, [this, isUndo = isUndo] {
            isUndo ? editor_->undo() : editor_->redo();  // the text has the history
            readText();
        });
    }
}

void LaunchPage::moveFocus(int direction) {
    QWidget* const stops[] = {editor_, sheetPanel_->view(), launchBar_->button(),
                              bar_->pathField()};
    int here = 0;
    for (int i = 0; i < 4; ++i) {
        here = stops[i]->hasFocus() ? i : here;
    }
    stops[(here + direction + 4) % 4]->setFocus();
}

void LaunchPage::showDocument() {
    const SpecDocument& document = context().spec;
    if (editor_->document()->isEmpty() && !document.isEmpty()) {
        isShowing_ = true;
        editor_->open(document.text());
        isShowing_ = false;
        readTimer_.start();
        daemonTimer_.start();
    }
    const bool hasWork = isStarted_ || !document.isEmpty() || !document.path().isEmpty();
    stack_->setCurrentIndex(hasWork ? 1 : 0);
    bar_->showDocument(document.path(), document.baseDir(), document.isModified());
    sheet_.setSets(document.sets());
    launchBar_->showSets(document.sets());
    launchBar_->showOrigin(document, !errors_.empty());
}

void LaunchPage::newSpec() {
    isStarted_ = true;
    files_.openText(specTemplate(), context().spec.baseDir());
    editor_->setFocus();
}

void LaunchPage::openRun(const std::shared_ptr<const values::RunDetail>& run) {
    if (!files_.openText(qtext(run->specText), baseDirOf(*run))) {
        return;
    }
    context().spec.setOrigin(run);
    launchBar_->fillFrom(run->summary);
    const QString variation = qtext(run->summary.variation);
    sheet_.setTickedNames({variation}, variation.isEmpty());  // only the run's own row
}

void LaunchPage::arrive(const Destination& destination) {
    if (destination.changed != nullptr) {
        openRun(destination.changed);
    }
    if (stack_->currentIndex() == 1) {
        editor_->setFocus();
    }
}

void LaunchPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    previews_.setInSight(true);
}

void LaunchPage::hideEvent(QHideEvent* event) {
    Page::hideEvent(event);
    previews_.setInSight(false);
}

void LaunchPage::chooseFile() {
    auto* dialog =
        specDialog(this, tr("Open a spec"), QFileDialog::AcceptOpen, context().spec.baseDir());
    connect(dialog, &QFileDialog::fileSelected, this,
            [this](const QString& path) { files_.open(path); });
    dialog->show();
}

void LaunchPage::save() {
    if (context().spec.path().isEmpty()) {
        saveAs();
        return;
    }
    files_.save(context().spec.path());
}

void LaunchPage::saveAs() {
    auto* dialog =
        specDialog(this, tr("Save the spec"), QFileDialog::AcceptSave, context().spec.baseDir());
    connect(dialog, &QFileDialog::fileSelected, this,
            [this](const QString& path) { files_.save(path); });
    dialog->show();
}

void LaunchPage::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls() || event->mimeData()->hasText()) {
        event->acceptProposedAction();
    }
}

void LaunchPage::dropEvent(QDropEvent* event) {
    const QList<QUrl> urls = event->mimeData()->urls();
    if (!urls.isEmpty() && urls.front().isLocalFile()) {
        files_.open(urls.front().toLocalFile());
    } else if (event->mimeData()->hasText()) {
        files_.openText(event->mimeData()->text(), context().spec.baseDir());
    }
    event->acceptProposedAction();
}

bool LaunchPage::isSettled() const {
    return !readTimer_.isActive() && !daemonTimer_.isActive() && !checker_.isBusy() &&
           !files_.isBusy() && numAsked_ == 0 && !isLaunching_ && previews_.isIdle();
}

void LaunchPage::saveState(QSettings& settings) const {
    settings.setValue(QStringLiteral("splitter"), splitter_->saveState());
    settings.setValue(QStringLiteral("recent"), files_.recent());
    settings.setValue(QStringLiteral("path"), context().spec.path());
    settings.setValue(QStringLiteral("ticked"), sheet_.tickedNames());
    settings.setValue(QStringLiteral("baseTicked"), sheet_.isBaseTicked());
    launchBar_->save(settings);
}

void LaunchPage::restoreState(QSettings& settings) {
    splitter_->restoreState(settings.value(QStringLiteral("splitter")).toByteArray());
    files_.setRecent(settings.value(QStringLiteral("recent")).toStringList());
    sheet_.setTickedNames(settings.value(QStringLiteral("ticked")).toStringList(),
                          settings.value(QStringLiteral("baseTicked"), true).toBool());
    launchBar_->restore(settings);
    fillRecent();
    const QString path = settings.value(QStringLiteral("path")).toString();
    if (!path.isEmpty() && context().spec.isEmpty()) {
        files_.open(path);
    }
}

}  // namespace millrace::gui

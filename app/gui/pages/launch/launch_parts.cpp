#include "app/gui/pages/launch/launch_parts.h"

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
#include "app/gui/pages/launch/launch_bar.h"
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

LaunchPage::Parts::Parts(LaunchPage& page, const PageContext& context)
    : page_(page),
      context_(context),
      files_(context.daemon, context.spec, this),
      previews_(context.daemon),
      stack_(new QStackedWidget(&page)) {
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
    page.setAcceptDrops(true);
    page.installEventFilter(this);  // for dropped files and texts
    showDocument();
    fillRecent();
}

// Disconnects before it deletes the widgets: a field that loses the focus then emits its text.
LaunchPage::Parts::~Parts() {
    for (QObject* speaker :
         std::initializer_list<QObject*>{&context_.spec, &context_.daemon, &files_, &sheet_,
                                         &previews_, bar_, editor_, launchBar_}) {
        speaker->disconnect(this);
    }
    QObject::disconnect(&sheet_, nullptr, sheetPanel_, nullptr);
    delete stack_;
}

QWidget* LaunchPage::Parts::widget() const {
    return stack_;
}

QWidget* LaunchPage::Parts::buildEmpty() {
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

void LaunchPage::Parts::fillRecent() {
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

void LaunchPage::Parts::buildWork() {
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

void LaunchPage::Parts::connectFiles() {
    connect(bar_, &SpecBar::openWanted, this, [this](const QString& path) { files_.open(path); });
    connect(bar_, &SpecBar::chooseWanted, this, [this] { chooseFile(); });
    connect(bar_, &SpecBar::newWanted, this, [this] { newSpec(); });
    connect(bar_, &SpecBar::saveWanted, this, [this] { save(); });
    connect(bar_, &SpecBar::draftWanted, this, [this](int index) { files_.openDraft(index); });
    connect(bar_, &SpecBar::baseDirGiven, this,
            [this](const QString& path) { context_.spec.setBaseDir(path); });
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
        Q_EMIT page_.said(notice);
    });
}

void LaunchPage::Parts::connectText() {
    SpecDocument& document = context_.spec;
    connect(editor_, &QPlainTextEdit::textChanged, this, [this] { textChanged(); });
    connect(editor_, &YamlEditor::refused, this,
            [this](const QString& text) { say(Notice::Kind::kError, text); });
    connect(editor_, &YamlEditor::fileDropped, this,
            [this](const QString& path) { files_.open(path); });
    connect(&document, &SpecDocument::opened, this, [this] {
        isShowing_ = true;  // until then textChanged() is not the user's doing
        editor_->open(context_.spec.text());
        isShowing_ = false;
        launchBar_->dropFilled();
        localErrors_.clear();
        isStarted_ = isStarted_ || !context_.spec.isEmpty();
        if (isStarted_ && page_.isVisible()) {
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
    connect(&checker_, &SpecChecker::checked, this, [this](int revision, const LocalCheck& check) {
        localErrors_ = check.errors;
        localRevision_ = revision;
        showProblems();
    });
    connect(&sheet_, &SheetModel::textEdits, this, [this](const TextEdits& edits, const QString&) {
        editor_->apply(edits);  // the editor has the text, and so the undo history
        readText();
    });
    connect(&context_.daemon, &DaemonBridge::linkChanged, this, [this] { daemonTimer_.start(); });
    connect(&context_.daemon, &DaemonBridge::switched, this, [this] { previews_.forget(); });
    connect(&previews_, &LaunchPreviews::changed, this,
            [this] { sheet_.setPreviews(previews_.previews()); });
}

void LaunchPage::Parts::connectLaunch() {
    connect(&sheet_, &SheetModel::ticksChanged, this, [this] { showSummary(); });
    connect(launchBar_, &LaunchBar::setsChanged, this,
            [this] { context_.spec.setSets(*launchBar_->sets()); });
    connect(launchBar_, &LaunchBar::launchWanted, this, [this] { launch(); });
    connect(launchBar_, &LaunchBar::copyWanted, this, [this] { copyCommand(); });
}

void LaunchPage::Parts::connectKeys() {
    const auto addKey = [this](const QKeySequence& key, std::function<void()> run) {
        page_.addKey(key, &page_, std::move(run));
    };
    addKey(QKeySequence(Qt::CTRL | Qt::Key_S), [this] { save(); });
    addKey(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S), [this] { saveAs(); });
    addKey(QKeySequence(Qt::CTRL | Qt::Key_O), [this] { chooseFile(); });
    addKey(QKeySequence(Qt::CTRL | Qt::Key_N), [this] { newSpec(); });
    addKey(QKeySequence(Qt::CTRL | Qt::Key_L), [this] { bar_->focusPath(); });
    addKey(QKeySequence(Qt::CTRL | Qt::Key_F), [this] { panel_->openFind(); });
    addKey(QKeySequence(Qt::CTRL | Qt::Key_Return), [this] { launch(); });
    addKey(QKeySequence(Qt::CTRL | Qt::Key_Enter), [this] { launch(); });
    addKey(QKeySequence(Qt::Key_F8), [this] { editor_->goToNextProblem(1); });
    addKey(QKeySequence(Qt::SHIFT | Qt::Key_F8), [this] { editor_->goToNextProblem(-1); });
    addKey(QKeySequence(Qt::Key_F6), [this] { moveFocus(1); });
    addKey(QKeySequence(Qt::SHIFT | Qt::Key_F6), [this] { moveFocus(-1); });
    page_.addKey(QKeySequence::Paste, stack_->widget(0), [this] {
        openText(QGuiApplication::clipboard()->text(), context_.spec.baseDir());
        editor_->setFocus();
    });
    for (const auto& [key, isUndo] :
         {std::pair(QKeySequence::Undo, true), std::pair(QKeySequence::Redo, false)}) {
        page_.addKey(key, sheetPanel_, [this, isUndo = isUndo] {
            isUndo ? editor_->undo() : editor_->redo();  // the text has the history
            readText();
        });
    }
}

void LaunchPage::Parts::moveFocus(int direction) {
    QWidget* const stops[] = {editor_, sheetPanel_->view(), launchBar_->button(),
                              bar_->pathField()};
    int here = 0;
    for (int i = 0; i < 4; ++i) {
        here = stops[i]->hasFocus() ? i : here;
    }
    stops[(here + direction + 4) % 4]->setFocus();
}

void LaunchPage::Parts::say(Notice::Kind kind, const QString& text) {
    Q_EMIT page_.said({kind, text});
}

void LaunchPage::Parts::textChanged() {
    if (!isShowing_) {
        context_.spec.setText(editor_->text());
    }
}

void LaunchPage::Parts::showDocument() {
    const SpecDocument& document = context_.spec;
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

void LaunchPage::Parts::newSpec() {
    const QString base = context_.spec.baseDir();
    isStarted_ = true;
    files_.openText(specTemplate(), base);
    editor_->setFocus();
}

void LaunchPage::Parts::openText(const QString& text, const QString& baseDir) {
    files_.openText(text, baseDir);
}

void LaunchPage::Parts::openRun(const std::shared_ptr<const values::RunDetail>& run) {
    if (!files_.openText(qtext(run->specText), baseDirOf(*run))) {
        return;
    }
    context_.spec.setOrigin(run);
    launchBar_->fillFrom(run->summary);
    const QString variation = qtext(run->summary.variation);
    sheet_.setTickedNames({variation}, variation.isEmpty());  // only the run's own row
}

void LaunchPage::Parts::focusEditor() {
    if (stack_->currentIndex() == 1) {
        editor_->setFocus();
    }
}

void LaunchPage::Parts::chooseFile() {
    auto* dialog =
        specDialog(&page_, tr("Open a spec"), QFileDialog::AcceptOpen, context_.spec.baseDir());
    connect(dialog, &QFileDialog::fileSelected, this,
            [this](const QString& path) { files_.open(path); });
    dialog->show();
}

void LaunchPage::Parts::save() {
    if (context_.spec.path().isEmpty()) {
        saveAs();
        return;
    }
    files_.save(context_.spec.path());
}

void LaunchPage::Parts::saveAs() {
    auto* dialog =
        specDialog(&page_, tr("Save the spec"), QFileDialog::AcceptSave, context_.spec.baseDir());
    connect(dialog, &QFileDialog::fileSelected, this,
            [this](const QString& path) { files_.save(path); });
    dialog->show();
}

bool LaunchPage::Parts::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::DragEnter) {
        auto* drag = static_cast<QDragEnterEvent*>(event);
        if (drag->mimeData()->hasUrls() || drag->mimeData()->hasText()) {
            drag->acceptProposedAction();
        }
        return true;
    }
    if (event->type() == QEvent::Drop) {
        auto* drop = static_cast<QDropEvent*>(event);
        const QList<QUrl> urls = drop->mimeData()->urls();
        if (!urls.isEmpty() && urls.front().isLocalFile()) {
            files_.open(urls.front().toLocalFile());
        } else if (drop->mimeData()->hasText()) {
            openText(drop->mimeData()->text(), context_.spec.baseDir());
        }
        drop->acceptProposedAction();
        return true;
    }
    return QObject::eventFilter(watched, event);
}

bool LaunchPage::Parts::isSettled() const {
    return !readTimer_.isActive() && !daemonTimer_.isActive() && !checker_.isBusy() &&
           !files_.isBusy() && numAsked_ == 0 && !isLaunching_ && previews_.isIdle();
}

void LaunchPage::Parts::saveState(QSettings& settings) const {
    settings.setValue(QStringLiteral("splitter"), splitter_->saveState());
    settings.setValue(QStringLiteral("recent"), files_.recent());
    settings.setValue(QStringLiteral("path"), context_.spec.path());
    settings.setValue(QStringLiteral("ticked"), sheet_.tickedNames());
    settings.setValue(QStringLiteral("baseTicked"), sheet_.isBaseTicked());
    launchBar_->save(settings);
}

void LaunchPage::Parts::restoreState(QSettings& settings) {
    splitter_->restoreState(settings.value(QStringLiteral("splitter")).toByteArray());
    files_.setRecent(settings.value(QStringLiteral("recent")).toStringList());
    sheet_.setTickedNames(settings.value(QStringLiteral("ticked")).toStringList(),
                          settings.value(QStringLiteral("baseTicked"), true).toBool());
    launchBar_->restore(settings);
    fillRecent();
    const QString path = settings.value(QStringLiteral("path")).toString();
    if (!path.isEmpty() && context_.spec.isEmpty()) {
        files_.open(path);
    }
}

}  // namespace millrace::gui

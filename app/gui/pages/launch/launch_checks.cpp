// Implements checking and launching in the Launch page.
#include <QApplication>
#include <QClipboard>
#include <QStackedWidget>
#include <algorithm>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/pages/launch/editor_panel.h"
#include "app/gui/pages/launch/launch_page.h"
#include "app/gui/pages/launch/sheet_panel.h"

namespace millrace::gui {
namespace {

EditorProblem problemOf(const values::SpecError& error, bool isWarning) {
    return {error.line, error.column, QString::fromStdString(error.message), isWarning};
}

bool isSame(const values::SpecError& a, const values::SpecError& b) {
    return a.line == b.line && a.column == b.column && a.message == b.message;
}

}  // namespace

bool LaunchPage::isConnected() const {
    return context().daemon.link().state == session::LinkState::kConnected;
}

void LaunchPage::readText() {
    readTimer_.stop();  // edits of the sheet call this at once
    const SpecDocument& document = context().spec;
    sheet_.setText(document.text());
    sheetPanel_->setKeys(changePaths(sheet_.syntax()));
    sheet_.setRuns(document.checkReply().runs, document.isChecked());
    if (document.isEmpty()) {
        localErrors_.clear();
        showProblems();
        return;
    }
    checker_.check(document.source(), document.revision());
    showSummary();
}

void LaunchPage::askDaemon() {
    const SpecDocument& document = context().spec;
    if (document.isEmpty() || !isConnected()) {
        showProblems();
        return;
    }
    const int revision = document.revision();
    values::CheckRequest request;
    request.spec = document.source();
    request.allVariations = true;  // the sheet shows each one's errors and rows
    ++numAsked_;
    askedRevision_ = revision;
    showProblems();
    context().daemon.check(
        std::move(request), this,
        [this, revision](Result<values::CheckReply> reply) { takeReply(revision, reply); });
}

void LaunchPage::takeReply(int revision, const Result<values::CheckReply>& reply) {
    --numAsked_;  // counts dropped replies, too: see isSettled()
    if (revision != askedRevision_) {
        return;  // a newer request is pending
    }
    daemonTrouble_ =
        reply.ok() ? QString() : QString::fromStdString(std::string(messageOf(reply.status())));
    if (!reply.ok()) {
        showProblems();
        return;
    }
    SpecDocument& document = context().spec;
    document.setCheckReply(revision, *reply);
    const KnownColumns columns = knownColumns(document.checkReply());
    editor_->setColumns(columns);
    sheetPanel_->setColumns(columns);
    sheet_.setRuns(document.checkReply().runs, document.isChecked());
    if (document.isChecked() && reply->errors.empty()) {
        previews_.want(document.source(), reply->runs, ticked());
    } else {
        previews_.stop();
    }
}

void LaunchPage::showProblems() {
    const SpecDocument& document = context().spec;
    std::vector<values::SpecError> errors = localErrors_;
    const bool hasReply = document.checkedRevision() >= 0 && !document.isEmpty();
    // The daemon checks no columns of a text with mistakes: its old results would mislead.
    if (hasReply && (localErrors_.empty() || document.isChecked())) {
        for (const values::SpecError& error : document.checkReply().errors) {
            const bool isKnown =
                std::ranges::any_of(errors, [&](const auto& e) { return isSame(e, error); });
            if (!isKnown) {
                errors.push_back(error);
            }
        }
    }
    std::ranges::stable_sort(errors, [](const auto& a, const auto& b) {
        return std::pair(a.line, a.column) < std::pair(b.line, b.column);
    });
    sheet_.setErrors(errors);
    std::vector<EditorProblem> problems;
    for (const values::SpecError& error : errors) {
        problems.push_back(problemOf(error, false));
    }
    if (hasReply && document.isChecked()) {
        for (const values::SpecError& warning : document.checkReply().warnings) {
            problems.push_back(problemOf(warning, true));
        }
    }
    errors_ = std::move(errors);
    panel_->showProblems(problems);
    panel_->showCheck({document.isEmpty(), document.isChecked(), isConnected(), daemonTrouble_});
    launchBar_->showOrigin(document, !errors_.empty());
    showSummary();
}

void LaunchPage::showSummary() {
    if (isLaunching_) {
        return;
    }
    QString summary = launchSummary(ticked(), sheet_.isBaseTicked());
    const int count = numBlocking();
    if (count > 0) {
        summary = count == 1 ? tr("1 problem to fix before launching")
                             : tr("%1 problems to fix before launching").arg(count);
    }
    launchBar_->showSummary(summary,
                            sheet_.numTicked() > 0 && count == 0 && !context().spec.isEmpty());
}

values::SubmitRequest LaunchPage::request() const {
    const values::SpecSource source = context().spec.source();
    values::SubmitRequest request;
    request.specText = source.text;
    request.fileName = source.fileName;
    request.baseDir = source.baseDir;
    request.sets = source.sets;
    request.variations = sheet_.tickedVariations();
    request.withoutBase = !sheet_.isBaseTicked();
    request.project = launchBar_->project().toStdString();
    request.note = launchBar_->note().toStdString();
    request.tags = launchBar_->tags();
    if (context().spec.origin() != nullptr) {
        request.place = context().spec.origin()->script.place;
    }
    return request;
}

void LaunchPage::launch() {
    if (isLaunching_ || context().spec.isEmpty()) {
        return;
    }
    QString tagProblem;
    launchBar_->tags(&tagProblem);  // read for its problem only
    QString problem;
    if (numBlocking() > 0) {
        problem = tr("Nothing was launched: the spec has mistakes.");
        editor_->goToProblem(0);
    } else if (sheet_.numTicked() == 0) {
        problem = tr("Nothing was launched: tick the base or a variation first.");
    } else if (context().spec.baseDir().isEmpty()) {
        problem =
            tr("Nothing was launched: give the base directory that relative paths start from.");
    } else if (!tagProblem.isEmpty()) {
        problem = tagProblem;
    } else if (!launchBar_->sets()) {
        problem = tr("Nothing was launched: what is set has a quote that is not closed.");
    } else if (!isConnected()) {
        problem = tr("Nothing was launched: no daemon is connected.");
    }
    if (!problem.isEmpty()) {
        say(Notice::Kind::kError, problem);
        return;
    }
    isLaunching_ = true;  // until launched(): a second key press submits nothing
    launchBar_->showLaunching(true);
    context().daemon.submit(
        request(), this, [this](Result<values::SubmitReply> reply) { launched(std::move(reply)); });
}

void LaunchPage::launched(Result<values::SubmitReply> reply) {
    isLaunching_ = false;
    launchBar_->showLaunching(false);
    if (!reply.ok()) {
        say(Notice::Kind::kError, QString::fromStdString(std::string(messageOf(reply.status()))));
        return;
    }
    if (!reply->errors.empty()) {
        refusedBy(*reply);
        return;
    }
    Destination destination;
    destination.page = PageName::kWatch;
    for (const values::RunSummary& run : reply->runs) {
        destination.runIds.push_back(run.id);
    }
    const auto count = reply->runs.size();
    say(Notice::Kind::kDone, count == 1 ? tr("Launched 1 run") : tr("Launched %1 runs").arg(count));
    Q_EMIT goTo(destination);
}

void LaunchPage::refusedBy(const values::SubmitReply& reply) {
    values::CheckReply check;
    check.errors = reply.errors;
    check.warnings = reply.warnings;
    context().spec.setCheckReply(context().spec.revision(), std::move(check));
    editor_->goToProblem(0);
    say(Notice::Kind::kError,
        tr("Nothing was launched: %1").arg(QString::fromStdString(reply.errors.front().message)));
}

void LaunchPage::copyCommand() {
    const QString path =
        context().spec.path().isEmpty() ? QStringLiteral("spec.yaml") : context().spec.path();
    const bool areAll = ticked().size() == sheet_.rowCount() - 1;  // row 0 is the base
    QApplication::clipboard()->setText(
        launchCommand(path, ticked(), sheet_.isBaseTicked(), areAll, *launchBar_));
    const bool isSaved = !context().spec.isModified() && !context().spec.path().isEmpty();
    say(Notice::Kind::kInfo,
        isSaved ? tr("The command is on the clipboard")
                : tr("The command is on the clipboard; it reads the file, so save the spec first"));
}

std::vector<Command> LaunchPage::commands() {
    const bool hasSpec = stack_->currentIndex() == 1;
    const bool canLaunch = hasSpec && numBlocking() == 0 && sheet_.numTicked() > 0 && !isLaunching_;
    return {
        {tr("Launch the ticked runs"), QKeySequence(Qt::CTRL | Qt::Key_Return),
         [this] { launch(); }, canLaunch},
        {tr("Open a spec"), QKeySequence(Qt::CTRL | Qt::Key_O), [this] { chooseFile(); }},
        {tr("New spec from the example"), QKeySequence(Qt::CTRL | Qt::Key_N),
         [this] { newSpec(); }},
        {tr("Save the spec"), QKeySequence(Qt::CTRL | Qt::Key_S), [this] { save(); }, hasSpec},
        {tr("Save the spec as another file"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S),
         [this] { saveAs(); }, hasSpec},
        {tr("Find in the spec"), QKeySequence(Qt::CTRL | Qt::Key_F), [this] { panel_->openFind(); },
         hasSpec},
        {tr("Complete at the cursor"), QKeySequence(Qt::CTRL | Qt::Key_Space),
         [this] {
             editor_->setFocus();
             editor_->complete();
         },
         hasSpec},
        {tr("Comment or uncomment lines"), QKeySequence(Qt::CTRL | Qt::Key_Slash),
         [this] { editor_->toggleComment(); }, hasSpec},
        {tr("Go to the next problem"), QKeySequence(Qt::Key_F8),
         [this] { editor_->goToNextProblem(1); }, !errors_.empty()},
        {tr("Next part: editor, variations, launch"), QKeySequence(Qt::Key_F6),
         [this] { moveFocus(1); }, hasSpec},
        {tr("Add a variation"), QKeySequence(), [this] { sheetPanel_->addRow(); }, hasSpec},
        {tr("Duplicate the variation"), QKeySequence(Qt::CTRL | Qt::Key_D),
         [this] { sheetPanel_->duplicateRow(); }, hasSpec},
        {tr("Tick all variations"), QKeySequence(), [this] { sheet_.tickAll(true); }, hasSpec},
        {tr("Set keys for this launch"), QKeySequence(), [this] { launchBar_->editSets(); },
         hasSpec},
        {tr("Copy the launch as CLI"), QKeySequence(), [this] { copyCommand(); }, canLaunch},
    };
}

}  // namespace millrace::gui

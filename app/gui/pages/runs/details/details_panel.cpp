#include "app/gui/pages/runs/details/details_panel.h"

#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/pages/runs/details/detail_reader.h"
#include "app/gui/pages/runs/details/note_section.h"
#include "app/gui/pages/runs/details/overview_section.h"
#include "app/gui/pages/runs/details/run_head.h"
#include "app/gui/pages/runs/parts/run_actions.h"
#include "app/gui/widgets/look.h"
#include "app/gui/widgets/panels.h"

namespace millrace::gui {
namespace {

constexpr int kClockMs = 1'000;  ///< updates the duration of an active run

}  // namespace

DetailsPanel::DetailsPanel(DaemonBridge& daemon, RunTable& runs, const RunColors& colors,
                           RunActions& actions, QWidget* parent)
    : QWidget(parent), runs_(&runs), reader_(new DetailReader(daemon, this)) {
    build(daemon, colors, actions);
    connectTabs(actions);
    connect(reader_, &DetailReader::failed, this,
            [this](const QString& sentence) { error_->setMessage(Tone::kBad, sentence); });
    connect(reader_, &DetailReader::wasRead, this, [this] {
        error_->clearMessage();
        tabs_->showDetail(*reader_->detail());
        showTabData();
    });
    clear();
}

void DetailsPanel::build(DaemonBridge& daemon, const RunColors& colors, RunActions& actions) {
    auto* layout = boxIn<QVBoxLayout>(this);
    stack_ = new QStackedWidget(this);
    layout->addWidget(stack_);
    content_ = new QWidget(stack_);
    auto* inside = boxIn<QVBoxLayout>(content_, 0);
    head_ = new RunHead(actions, content_);
    inside->addWidget(head_);
    error_ = new MessageStrip(content_);
    inside->addWidget(error_);
    tabs_ = new RunTabs(daemon, colors, content_);
    inside->addWidget(tabs_, 1);
    empty_ = new EmptyState(stack_);
    empty_->setText(tr("No run selected"),
                    tr("Choose a run to see its spec, what it read, and how it went. Choose two "
                       "or more, or tick them with Space, to compare them."));
    stack_->addWidget(content_);
    stack_->addWidget(empty_);
}

void DetailsPanel::connectTabs(RunActions& actions) {
    connect(tabs_, &QTabWidget::currentChanged, this, [this] { showTabData(); });
    connect(tabs_, &RunTabs::said, this, &DetailsPanel::said);
    connect(tabs_, &RunTabs::resumeAsked, this,
            [this, &actions](std::int64_t step) { actions.resume(id_, step); });
    connect(tabs_, &RunTabs::copyResumeAsked, this,
            [this, &actions](std::int64_t step) { actions.copyResume(id_, step); });
}

const values::RunSummary* DetailsPanel::run() const {
    return id_.empty() ? nullptr : runs_->find(id_);
}

const values::RunDetail* DetailsPanel::detail() const {
    return reader_->detail();
}

void DetailsPanel::setRun(const std::string& id) {
    if (id == id_) {
        refresh();
        return;
    }
    id_ = id;
    shown_ = {};
    reader_->setRun(id);
    error_->clearMessage();
    tabs_->setRun(id);
    const values::RunSummary* shown = run();
    stack_->setCurrentWidget(shown != nullptr ? content_ : empty_);
    if (shown != nullptr) {
        showSummary(*shown);
        reader_->read(shown->revision);
    }
}

void DetailsPanel::refresh() {
    const values::RunSummary* shown = run();
    if (shown == nullptr) {
        reader_->rest();
        stack_->setCurrentWidget(empty_);
        return;
    }
    stack_->setCurrentWidget(content_);
    // A run's last counters arrive after its end, with the same revision.
    const bool isOld = !sinceShown_.isValid() || sinceShown_.elapsed() >= kClockMs;
    if (values::isEnded(shown->state) ? *shown != shown_
                                      : isOld || shown->revision != shown_.revision) {
        showSummary(*shown);
    }
    reader_->runChanged(shown->revision);
}

void DetailsPanel::showSummary(const values::RunSummary& run) {
    shown_ = run;
    sinceShown_.start();
    head_->showRun(run);
    tabs_->note().showNote(run.id, qtext(run.note));
    showTabData();
}

void DetailsPanel::showTabData() {
    if (const values::RunSummary* shown = run()) {
        const bool hasBase = !shown->variationOf.empty();
        tabs_->showRun(*shown, hasBase ? runs_->find(shown->variationOf) : nullptr, detail(),
                       runs_->now());
    }
}

void DetailsPanel::clear() {
    id_.clear();
    reader_->setRun("");
    tabs_->forget();
    stack_->setCurrentWidget(empty_);
}

void DetailsPanel::setAway(bool isAway) {
    setDimmed(*head_, isAway);
    tabs_->overview().setAway(isAway);
}

bool DetailsPanel::isSettled() const {
    return id_.empty() || (!reader_->isReading() && tabs_->isSettled());
}

void DetailsPanel::editNote() {
    showTab(Tab::kNote);
    tabs_->note().edit();
}

void DetailsPanel::focusTabs() {
    tabs_->tabBar()->setFocus(Qt::ShortcutFocusReason);
}

}  // namespace millrace::gui

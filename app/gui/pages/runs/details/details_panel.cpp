#include "app/gui/pages/runs/details/details_panel.h"

#include <QHBoxLayout>
#include <QStackedWidget>
#include <QTabBar>
#include <QTabWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/pages/runs/details/checkpoint_section.h"
#include "app/gui/pages/runs/details/log_section.h"
#include "app/gui/pages/runs/details/metrics_section.h"
#include "app/gui/pages/runs/details/note_section.h"
#include "app/gui/pages/runs/details/overview_section.h"
#include "app/gui/pages/runs/details/receipt_section.h"
#include "app/gui/pages/runs/details/spec_section.h"
#include "app/gui/pages/runs/parts/chart_board.h"
#include "app/gui/pages/runs/parts/fact_view.h"
#include "app/gui/pages/runs/parts/run_actions.h"
#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kClockMs = 1'000;  ///< the duration of a run that goes on
constexpr int kAgainMs = 2'000;  ///< between two readings of a run that goes on

}  // namespace

DetailsPanel::DetailsPanel(DaemonBridge& daemon, RunTable& runs, const RunColors& colors,
                           RunActions& actions, QWidget* parent)
    : QWidget(parent), daemon_(daemon), runs_(&runs), colors_(colors), actions_(actions) {
    fetchTimer_.setSingleShot(true);
    connect(&fetchTimer_, &QTimer::timeout, this, [this] { fetch(); });
    build();
    clear();
}

void DetailsPanel::build() {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    stack_ = new QStackedWidget(this);
    layout->addWidget(stack_);
    content_ = new QWidget(stack_);
    auto* inside = new QVBoxLayout(content_);
    inside->setContentsMargins(0, 0, 0, 0);
    inside->setSpacing(0);
    inside->addWidget(buildHead());
    error_ = new MessageStrip(content_);
    inside->addWidget(error_);
    buildTabs();
    inside->addWidget(tabs_, 1);
    empty_ = new EmptyState(stack_);
    empty_->setText("No run selected",
                    "Choose a run to see its spec, what it read, and how it went. Choose two or "
                    "more, or tick them with Space, to compare them.");
    stack_->addWidget(content_);
    stack_->addWidget(empty_);
}

QToolButton* DetailsPanel::addAction(const QString& text, const QString& tip) {
    auto* button = new QToolButton(content_);
    button->setText(text);
    button->setToolTip(tip);
    return button;
}

QWidget* DetailsPanel::buildHead() {
    auto* head = new QWidget(content_);
    auto* column = new QVBoxLayout(head);
    column->setContentsMargins(kSpaceMedium, kSpaceSmall, kSpaceMedium, kSpaceSmall);
    column->setSpacing(kSpaceTiny);
    auto* line = new QHBoxLayout;
    title_ = new ElidedLabel(head);
    title_->setFont(headingFont(font()));
    badge_ = new Badge(head);
    line->addWidget(title_, 1);
    line->addWidget(badge_);
    column->addLayout(line);
    subtitle_ = new ElidedLabel(head);
    setLook(*subtitle_, "dim");
    column->addWidget(subtitle_);
    auto* row = new QHBoxLayout;
    row->setSpacing(kSpaceTiny);
    watch_ = addAction("Watch", "See it live on the Watch page");
    stop_ = addAction("Stop", "Ends the run with a checkpoint");
    resume_ = addAction("Resume", "Goes on from the last checkpoint");
    again_ = addAction("Launch again", "Opens its spec on the Launch page");
    copy_ = addAction("Copy as CLI", "The millrace run line that does the same");
    delete_ = addAction("Delete", "Hides the run; it can be restored");
    restore_ = addAction("Restore", "Shows the run again");
    for (QToolButton* button : {watch_, stop_, resume_, again_, copy_, delete_, restore_}) {
        row->addWidget(button);
    }
    row->addStretch(1);
    column->addLayout(row);
    connect(watch_, &QToolButton::clicked, this, [this] { actions_.watch({id_}); });
    connect(stop_, &QToolButton::clicked, this, [this] { actions_.stop({id_}); });
    connect(resume_, &QToolButton::clicked, this, [this] { actions_.resume(id_, 0); });
    connect(again_, &QToolButton::clicked, this, [this] { actions_.launchAgain(id_); });
    connect(copy_, &QToolButton::clicked, this, [this] { actions_.copyCommand(id_); });
    connect(delete_, &QToolButton::clicked, this, [this] { actions_.remove({id_}); });
    connect(restore_, &QToolButton::clicked, this, [this] { actions_.restore({id_}); });
    return head;
}

void DetailsPanel::buildTabs() {
    tabs_ = new QTabWidget(content_);
    tabs_->setDocumentMode(true);
    tabs_->tabBar()->setUsesScrollButtons(true);
    tabs_->tabBar()->setExpanding(false);
    overview_ = new OverviewSection(daemon_, colors_, tabs_);
    metrics_ = new MetricsSection(daemon_, colors_, tabs_);
    spec_ = new SpecSection(tabs_);
    receipt_ = new ReceiptSection(tabs_);
    environment_ = new FactView("Environment", tabs_);
    log_ = new LogSection(daemon_, tabs_);
    checkpoints_ = new CheckpointSection(tabs_);
    note_ = new NoteSection(daemon_, tabs_);
    tabs_->addTab(overview_, "Overview");
    tabs_->addTab(metrics_, "Metrics");
    tabs_->addTab(spec_, "Spec");
    tabs_->addTab(receipt_, "Receipt");
    tabs_->addTab(environment_, "Environment");
    tabs_->addTab(log_, "Log");
    tabs_->addTab(checkpoints_, "Checkpoints");
    tabs_->addTab(note_, "Note");
    connect(tabs_, &QTabWidget::currentChanged, this, [this] { showTabData(); });
    connect(log_, &LogSection::copied, this, &DetailsPanel::said);
    connect(&overview_->board(), &ChartBoard::copied, this, &DetailsPanel::said);
    connect(&metrics_->board(), &ChartBoard::copied, this, &DetailsPanel::said);
    connect(checkpoints_, &CheckpointSection::resumeAsked, this,
            [this](std::int64_t step) { actions_.resume(id_, step); });
    connect(checkpoints_, &CheckpointSection::copyAsked, this,
            [this](std::int64_t step) { actions_.copyResume(id_, step); });
}

void DetailsPanel::setTable(RunTable& runs) {
    runs_ = &runs;
}

void DetailsPanel::setRun(const std::string& id) {
    if (id == id_) {
        refresh();
        return;
    }
    id_ = id;
    detail_.reset();
    shownRevision_ = fetchedRevision_ = 0;
    isFetching_ = false;
    fetchTimer_.stop();
    error_->clearMessage();
    log_->setRun(id);
    spec_->clear();
    receipt_->clear();
    checkpoints_->clear();
    environment_->facts().setFacts({});
    const client::RunSummary* run = runs_->find(id);
    if (run == nullptr) {
        stack_->setCurrentWidget(empty_);
        return;
    }
    stack_->setCurrentWidget(content_);
    showSummary(*run);
    fetch();
}

void DetailsPanel::refresh() {
    const client::RunSummary* run = id_.empty() ? nullptr : runs_->find(id_);
    if (run == nullptr) {
        stack_->setCurrentWidget(empty_);
        return;
    }
    const bool isOld = !sinceShown_.isValid() || sinceShown_.elapsed() >= kClockMs;
    if (run->revision != shownRevision_ || (isOld && !client::isEnded(run->state))) {
        showSummary(*run);
    }
    if (run->revision != fetchedRevision_ && !isFetching_ && !fetchTimer_.isActive()) {
        const qint64 wait = sinceFetch_.isValid() ? kAgainMs - sinceFetch_.elapsed() : 0;
        fetchTimer_.start(static_cast<int>(std::max<qint64>(0, wait)));
    }
}

void DetailsPanel::showSummary(const client::RunSummary& run) {
    shownRevision_ = run.revision;
    sinceShown_.start();
    badge_->setLook(badgeOf(run));
    title_->setFullText(
        qtext(run.variation.empty() ? run.name : run.name + "  ·  " + run.variation));
    QStringList parts = {qtext(run.id)};
    if (run.startedMs > 0) {
        parts.append("started " + fullTimeText(run.startedMs));
    }
    if (!run.host.empty()) {
        parts.append("on " + qtext(run.host));
    }
    subtitle_->setFullText(parts.join("  ·  "));
    const bool hasEnded = client::isEnded(run.state), isDeleted = run.deletedMs > 0;
    watch_->setVisible(!isDeleted);
    stop_->setVisible(!hasEnded && !isDeleted);
    resume_->setVisible(!isDeleted && (run.state == client::RunState::kFailed ||
                                       run.state == client::RunState::kCancelled));
    delete_->setVisible(hasEnded && !isDeleted);
    restore_->setVisible(isDeleted && !run.isPurged());
    note_->showNote(run.id, qtext(run.note));
    showTabData();
}

void DetailsPanel::showTabData() {
    const client::RunSummary* run = id_.empty() ? nullptr : runs_->find(id_);
    if (run == nullptr) {
        return;
    }
    if (tab() == Tab::kOverview) {
        overview_->showRun(*run, run->variationOf.empty() ? nullptr : runs_->find(run->variationOf),
                           runs_->now());
    } else if (tab() == Tab::kMetrics) {
        metrics_->showRun(*run, detail_ ? detail_->metricNames : std::vector<std::string>());
    }
}

void DetailsPanel::fetch() {
    const client::RunSummary* run = id_.empty() ? nullptr : runs_->find(id_);
    if (run == nullptr) {
        return;
    }
    isFetching_ = true;
    fetchedRevision_ = run->revision;
    sinceFetch_.start();
    daemon_.get(
        id_, this,
        [this, id = id_](Result<client::RunDetail> reply) {
            if (id != id_) {
                return;
            }
            isFetching_ = false;
            if (!reply.ok()) {
                error_->setMessage(Tone::kBad, asSentence(std::string(messageOf(reply.status()))));
                return;
            }
            error_->clearMessage();
            detail_ = std::make_unique<client::RunDetail>(*std::move(reply));
            showDetail();
        },
        "details");
}

void DetailsPanel::showDetail() {
    overview_->showDetail(*detail_);
    spec_->showDetail(*detail_);
    receipt_->showDetail(*detail_);
    environment_->facts().setFacts(environmentFacts(*detail_));
    checkpoints_->showDetail(*detail_);
    showTabData();
}

void DetailsPanel::clear() {
    id_.clear();
    detail_.reset();
    isFetching_ = false;
    fetchTimer_.stop();
    log_->setRun("");
    overview_->clear();
    metrics_->clear();
    stack_->setCurrentWidget(empty_);
}

bool DetailsPanel::isSettled() const {
    return id_.empty() || (!isFetching_ && overview_->board().isSettled() && metrics_->isSettled());
}

void DetailsPanel::showTab(Tab tab) {
    tabs_->setCurrentIndex(static_cast<int>(tab));
}

DetailsPanel::Tab DetailsPanel::tab() const {
    return static_cast<Tab>(tabs_->currentIndex());
}

void DetailsPanel::editNote() {
    showTab(Tab::kNote);
    note_->edit();
}

void DetailsPanel::focusTabs() {
    tabs_->tabBar()->setFocus(Qt::ShortcutFocusReason);
}

int DetailsPanel::tabsWidth() const {
    return tabs_->tabBar()->sizeHint().width() + 2;
}

void DetailsPanel::save(QSettings& settings) const {
    settings.setValue("tab", tabs_->currentIndex());
    metrics_->save(settings);
}

void DetailsPanel::restore(QSettings& settings) {
    const int tab = settings.value("tab", 0).toInt();
    tabs_->setCurrentIndex(tab >= 0 && tab < tabs_->count() ? tab : 0);
    metrics_->restore(settings);
}

}  // namespace millrace::gui

#include "app/gui/pages/watch/watch_page.h"

#include <QDateTime>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/pages/watch/watch_charts.h"
#include "app/gui/pages/watch/watch_shown.h"
#include "app/gui/pages/watch/watch_stop.h"
#include "app/gui/widgets/live/lane_list.h"
#include "app/gui/widgets/live/log_view.h"
#include "app/gui/widgets/live/node_card.h"
#include "app/gui/widgets/live/node_deck.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kTickMs = 500;
constexpr int kJobsPercent = 30;  // of the height, at most
constexpr int kLogPercent = 27;   // of the height that the jobs leave
constexpr int kLogLines = 8;      // at least, if the charts get as much
constexpr std::size_t kNumLastRuns = 3;

std::int64_t nowMs() {
    return QDateTime::currentMSecsSinceEpoch();
}

QString sentenceOf(const session::Link& link) {
    QString text = QString::fromStdString(link.sentence);
    if (text.isEmpty()) {
        return QObject::tr("Waiting for the daemon's first answer.");
    }
    text[0] = text[0].toUpper();
    return text;
}

// The number of ranks behind the newest point of any series that several ranks reported; 0: one
// rank only.
int numRanksOf(const values::MetricHistory& history) {
    int numRanks = 0;
    for (const values::MetricSeries& series : history.series) {
        if (!series.points.empty() && series.points.back().ranks) {
            numRanks = std::max(numRanks, series.points.back().ranks->numRanks);
        }
    }
    return numRanks;
}

QLabel* heading(const QString& text, QWidget* parent) {
    return styled<QLabel>("heading", text, parent);
}

}  // namespace

WatchPage::WatchPage(const PageContext& context, QWidget* parent)
    : Page(context, parent), feed_(context.daemon) {
    build();
    connectDaemon();
    connectWidgets();
    nodes_.setNodes(context.daemon.nodes());
    takeKnownRuns();
    auto* clock = new QTimer(this);
    connect(clock, &QTimer::timeout, this, [this] { tick(nowMs()); });
    clock->start(kTickMs);
    tick(nowMs());
}

WatchPage::~WatchPage() = default;

void WatchPage::build() {
    auto* row = boxIn<QHBoxLayout>(this, kStyleSpacing,
                                   {kSpaceMedium, kSpaceMedium, kSpaceMedium, kSpaceMedium});
    across_ = new QSplitter(Qt::Horizontal, this);
    across_->setChildrenCollapsible(false);
    stack_ = new QStackedWidget(across_);
    empty_ = new EmptyState(stack_);
    stack_->addWidget(empty_);
    stack_->addWidget(buildMain());
    across_->addWidget(stack_);
    across_->addWidget(buildMachines());
    across_->setStretchFactor(0, 1);
    across_->setStretchFactor(1, 0);
    across_->setSizes({1'000, 330});
    across_->setHandleWidth(kSpaceMedium);
    row->addWidget(across_);
    stop_ = new WatchStop(context().daemon, this);
    setFocusProxy(laneList_);
}

QWidget* WatchPage::buildMain() {
    down_ = new QSplitter(Qt::Vertical, stack_);
    down_->setChildrenCollapsible(false);
    down_->addWidget(buildJobs());
    down_->addWidget(buildCharts());
    down_->addWidget(buildLog());
    down_->setStretchFactor(0, 0);
    down_->setStretchFactor(1, 3);
    down_->setStretchFactor(2, 1);
    down_->setHandleWidth(kSpaceMedium);
    connect(down_, &QSplitter::splitterMoved, this, [this] { isSized_ = true; });
    return down_;
}

QWidget* WatchPage::buildJobs() {
    runsCard_ = new Card(tr("Runs"), this);
    laneList_ = new LaneList(lanes_, context().colors, runsCard_);
    runsCard_->body()->addWidget(laneList_);
    return runsCard_;
}

QWidget* WatchPage::buildCharts() {
    auto* panel = new QWidget(this);
    auto* column = boxIn<QVBoxLayout>(panel, kSpaceSmall);
    auto* bar = boxIn<QHBoxLayout>(nullptr, kSpaceSmall, {kSpaceMedium, 0, 0, 0});
    bar->addWidget(heading(tr("Charts"), panel), 1);
    column->addLayout(bar);
    charts_ = new WatchCharts({feed_, nodes_, lanes_, context().colors}, bar, panel);
    laneList_->setLink(charts_->link());
    column->addWidget(charts_, 1);
    return panel;
}

QWidget* WatchPage::buildLog() {
    logCard_ = new Card(tr("Log"), this);
    logView_ = new LogView(logCard_);
    logView_->setModel(&feed_.log());
    logCard_->body()->setSpacing(0);
    logCard_->body()->addWidget(logView_);
    logCard_->header()->addWidget(logView_->bar(), 4);
    return logCard_;
}

QWidget* WatchPage::buildMachines() {
    auto* panel = new QWidget(across_);
    auto* column = boxIn<QVBoxLayout>(panel, kSpaceSmall, {0, kSpaceSmall, 0, 0});
    nodesTitle_ = heading(tr("Nodes"), panel);
    column->addWidget(nodesTitle_);
    nodeDeck_ = new NodeDeck(nodes_, panel);
    column->addWidget(nodeDeck_, 1);
    return panel;
}

void WatchPage::connectDaemon() {
    DaemonBridge& daemon = context().daemon;
    connect(&daemon, &DaemonBridge::switched, this, &WatchPage::reset);
    connect(&daemon, &DaemonBridge::linkChanged, this, [this] {
        refreshAway();
        refreshEmpty();
    });
    refreshAway();
    connect(&daemon, &DaemonBridge::runsChanged, this, &WatchPage::takeRuns);
    connect(&daemon, &DaemonBridge::nodesChanged, this, [this] {
        nodes_.setNodes(context().daemon.nodes());
        refreshTitles();
        charts_->rebuild();
    });
    connect(&daemon, &DaemonBridge::nodeSampled, this, [this](const values::NodeSample& sample) {
        const NodeState* before = nodes_.find(sample.node);
        const bool isFirst = before == nullptr || before->receivedMs == 0;
        nodes_.addSample(sample, nowMs());
        feed_.addSample(sample);
        if (isFirst) {
            charts_->rebuild();
            refreshTitles();
        } else {
            charts_->dataChanged({});
        }
    });
}

void WatchPage::connectWidgets() {
    connect(laneList_, &LaneList::selectionChanged, this, [this] {
        isAuto_ = isAuto_ && isSelecting_;
        applySelection();
    });
    connect(&lanes_, &LaneModel::rowsInserted, this, &WatchPage::chooseLooks);
    connect(&lanes_, &LaneModel::rowsRemoved, this, &WatchPage::chooseLooks);
    connect(laneList_, &LaneList::heightChanged, this, &WatchPage::fitJobs, Qt::QueuedConnection);
    connect(laneList_, &LaneList::runActivated, this,
            [this](const std::string& id) { Q_EMIT goTo({PageName::kRuns, {id}}); });
    const auto runOf = [this](const std::string& id) {
        const LaneState* lane = lanes_.find(id);
        return lane != nullptr ? lane->run : values::RunSummary{};
    };
    connect(laneList_, &LaneList::stopAsked, this,
            [this, runOf](const std::string& id) { stop_->stop({runOf(id)}); });
    connect(laneList_, &LaneList::resumeAsked, this,
            [this, runOf](const std::string& id) { stop_->resume(runOf(id)); });
    connect(stop_, &WatchStop::said, this, &Page::said);
    const auto tell = [this](const QString& sentence) {
        Q_EMIT said({Notice::Kind::kInfo, sentence});
    };
    connect(logView_, &LogView::copied, this, tell);
    connect(charts_, &WatchCharts::copied, this, tell);
    connect(&feed_, &WatchFeed::curvesChanged, charts_, &WatchCharts::rebuild);
    connect(&feed_, &WatchFeed::pointsAdded, charts_, &WatchCharts::dataChanged);
    connect(&feed_, &WatchFeed::historyRead, this, &WatchPage::takeHistory);
    connect(&feed_, &WatchFeed::rankRead, this, &WatchPage::takeRankHistory);
}

void WatchPage::reset() {
    nodes_.clear();
    lanes_.clear();
    isAuto_ = true;
    laneList_->select({}, {});
    nodes_.setNodes(context().daemon.nodes());
    refreshTitles();
    refreshEmpty();
}

// The page may be created after the first list has arrived.
void WatchPage::takeKnownRuns() {
    const RunTable& table = context().runs;
    std::vector<values::RunSummary> runs;
    for (int row = 0; row < table.numRuns(); ++row) {
        runs.push_back(table.run(row));
    }
    lanes_.apply(true, runs, {}, nowMs());
    selectAutomatically();
    refreshTitles();
    refreshEmpty();
}

void WatchPage::takeRuns(const RunsDelta& delta) {
    lanes_.apply(delta.isReset, delta.changed, delta.removed, nowMs());
    for (const values::RunSummary& run : delta.changed) {
        feed_.noteRun(run);
    }
    if (delta.isComplete) {
        lanes_.listComplete();
    }
    selectAutomatically();
    refreshTitles();
    refreshEmpty();
}

// Stored data from before the page was opened.
void WatchPage::takeHistory(const std::string& run, const values::MetricHistory& history) {
    const LaneState* lane = lanes_.find(run);
    const std::string host = lane != nullptr ? lane->run.host : std::string();
    lanes_.setHistory(run, timePointsOf(history));
    feed_.askRanks(run, numRanksOf(history));
    for (const values::MetricSeries& known : history.series) {
        if (known.key == metric::kSystemCpuPercent) {
            nodes_.prependHistory(host, -1, known.points);
        } else if (const std::optional<int> gpu = session::gpuOfUse(known.key)) {
            nodes_.prependHistory(host, *gpu, known.points);
        }
    }
}

void WatchPage::takeRankHistory(const std::string& run, int rank,
                                const values::MetricHistory& history) {
    lanes_.setRankHistory(run, rank, timePointsOf(history));
}

void WatchPage::selectAutomatically() {
    const auto& selected = laneList_->selected();
    std::vector<std::string> standing;
    std::ranges::copy_if(selected, std::back_inserter(standing),
                         [&](const std::string& id) { return lanes_.rowOf(id) >= 0; });
    isAuto_ = isAuto_ || standing.empty();
    if (isAuto_) {
        std::vector<std::string> going;
        for (int row = 0; row < lanes_.numLanes() && going.size() < kNumAutoMax; ++row) {
            if (lanes_.lane(row).isGoing()) {
                going.push_back(lanes_.lane(row).run.id);
            }
        }
        if (going.empty() && lanes_.numLanes() > 0) {
            going = standing.empty() ? std::vector<std::string>{lanes_.lane(0).run.id} : standing;
        }
        standing = going;
    }
    const bool keepsCurrent = std::ranges::find(standing, laneList_->current()) != standing.end();
    const std::string current = keepsCurrent       ? laneList_->current()
                                : standing.empty() ? std::string()
                                                   : standing.front();
    isSelecting_ = true;
    laneList_->select(standing, current);
    isSelecting_ = false;
    showStrips();
}

void WatchPage::showStrips() {
    std::vector<std::string> started;
    for (int row = 0; row < lanes_.numLanes(); ++row) {
        if (lanes_.lane(row).run.startedMs > 0) {
            started.push_back(lanes_.lane(row).run.id);
        }
    }
    feed_.showStrips(started);
}

void WatchPage::chooseLooks() {
    if (assignLooks(context().colors, lanes_, laneList_->selected())) {
        charts_->rebuild();
        laneList_->viewport()->update();
    }
}

// The axis covers the selected jobs' time; the strips of all lanes use it.
void WatchPage::fitTime(std::int64_t now) {
    if (charts_->link()->xAxis() == XAxis::kWallTime) {
        charts_->link()->reportExtent(laneList_, shownTime(lanes_, laneList_->selected(), now));
    }
    charts_->setGoing(areGoing(lanes_, laneList_->selected()));
    charts_->fold();
}

void WatchPage::applySelection() {
    const std::vector<std::string>& runs = laneList_->selected();
    chooseLooks();
    feed_.show(runs);
    for (const std::string& run : runs) {
        if (const LaneState* lane = lanes_.find(run)) {
            feed_.noteRun(lane->run);
        }
    }
    charts_->setRuns(runs);
    fitTime(nowMs());
    feed_.showLog(laneList_->current());
    refreshTitles();
}

// The jobs take the height that they need, up to a share; the log gets a few lines more than its
// minimum, the charts the rest.
void WatchPage::fitJobs() {
    const int all = down_->height() - 2 * down_->handleWidth();
    if (isSized_ || all < 100) {
        return;
    }
    const int frame = runsCard_->sizeHint().height() - laneList_->sizeHint().height();
    const int jobs = std::min(laneList_->sizeHint().height() + frame, all * kJobsPercent / 100);
    const int rest = all - jobs;
    const int lines = logCard_->sizeHint().height() - logView_->sizeHint().height() +
                      logView_->heightOf(kLogLines);
    const int log = std::max(std::min(lines, rest / 2), rest * kLogPercent / 100);
    down_->setSizes({jobs, rest - log, log});
}

void WatchPage::refreshTitles() {
    const int going = lanes_.numGoing();
    runsCard_->setTitle(going == 0 ? tr("Runs") : tr("Runs  ·  %1 running").arg(going));
    const int numNodes = nodes_.numNodes();
    nodeDeck_->parentWidget()->setVisible(numNodes > 0);
    nodesTitle_->setText(numNodes > 1 ? tr("Nodes  ·  %1").arg(numNodes) : tr("Nodes"));
    const LaneState* lane = lanes_.find(feed_.logRun());
    logCard_->setTitle(lane != nullptr ? tr("Log of %1").arg(lane->label()) : tr("Log"));
    logView_->setEmptyText(lane == nullptr ? tr("Select a run to read its log.")
                           : lane->run.state == values::RunState::kQueued
                               ? tr("It waits in the queue: %1. The log begins when it starts.")
                                     .arg(lane->sentence(nowMs()))
                               : tr("No line yet."));
}

bool WatchPage::isEmptyShown() const {
    return stack_->currentWidget() == empty_;
}

void WatchPage::refreshAway() {
    const bool isAway = context().daemon.link().state != session::LinkState::kConnected;
    laneList_->setAway(isAway);
    charts_->setAway(isAway);
}

void WatchPage::refreshEmpty() {
    const session::Link& link = context().daemon.link();
    const bool isAway = link.state != session::LinkState::kConnected;
    if (lanes_.numLanes() > 0) {
        if (isEmptyShown()) {
            stack_->setCurrentIndex(1);
            QTimer::singleShot(0, this, &WatchPage::fitJobs);
        }
        return;
    }
    stack_->setCurrentWidget(empty_);
    if (isAway) {
        empty_->setText(
            link.state == session::LinkState::kConnecting ? tr("Connecting") : tr("No daemon"),
            sentenceOf(link));
        empty_->setCommand(QStringLiteral("millrace up"));
    } else {
        showNothingRuns();
    }
}

void WatchPage::showNothingRuns() {
    empty_->setText(tr("Nothing is running"),
                    tr("Open a spec in Launch and press Ctrl+Enter, or start one in a terminal."));
    empty_->setCommand(QStringLiteral("millrace run spec.yaml"));
    std::vector<const values::RunSummary*> last;
    for (int row = 0; row < context().runs.numRuns(); ++row) {
        last.push_back(&context().runs.run(row));
    }
    const std::size_t count = std::min(kNumLastRuns, last.size());
    std::partial_sort(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(count), last.end(),
                      [](const auto* a, const auto* b) { return values::isListedBefore(*a, *b); });
    QString key;
    for (std::size_t i = 0; i < count; ++i) {
        key += QString::fromStdString(last[i]->id) + QLatin1Char(' ');
    }
    if (key == emptyKey_ && !emptyKey_.isNull()) {
        return;
    }
    emptyKey_ = key.isNull() ? QStringLiteral("") : key;
    qDeleteAll(empty_->findChildren<QPushButton*>(QStringLiteral("link")));
    const auto add = [this](const QString& text, const Destination& destination) {
        QPushButton* button =
            empty_->addButton(text, this, [this, destination] { Q_EMIT goTo(destination); });
        button->setObjectName(QStringLiteral("link"));
    };
    add(tr("Go to Launch"), {PageName::kLaunch});
    for (std::size_t i = 0; i < count; ++i) {
        const values::RunSummary& run = *last[i];
        const std::string& name = run.variation.empty() ? run.name : run.variation;
        add(tr("Last: %1").arg(QString::fromStdString(name)), {PageName::kRuns, {run.id}});
    }
}

void WatchPage::tick(std::int64_t now) {
    nodes_.refresh(now);
    if (context().daemon.link().state != session::LinkState::kConnected) {
        return;  // the present state is unknown: the strips stop
    }
    lanes_.refresh(now);
    fitTime(now);
    if (isVisible() && lanes_.numLanes() > 0) {
        laneList_->setNow(now);
    }
}

void WatchPage::arrive(const Destination& destination) {
    std::vector<values::RunSummary> runs;
    for (const std::string& id : destination.runIds) {
        if (const values::RunSummary* run = context().runs.find(id)) {
            runs.push_back(*run);
        }
    }
    if (runs.empty()) {
        return;
    }
    isAuto_ = false;
    lanes_.pin(runs, nowMs());
    std::vector<std::string> ids;
    for (int row = 0; row < lanes_.numLanes(); ++row) {
        const std::string& id = lanes_.lane(row).run.id;
        if (std::ranges::find(destination.runIds, id) != destination.runIds.end()) {
            ids.push_back(id);
        }
    }
    refreshEmpty();
    laneList_->select(ids, runs.front().id);
    charts_->follow();
    laneList_->setFocus(Qt::OtherFocusReason);
}

std::vector<values::RunSummary> WatchPage::selectedRuns() const {
    std::vector<values::RunSummary> runs;
    for (const std::string& id : laneList_->selected()) {
        if (const LaneState* lane = lanes_.find(id)) {
            runs.push_back(lane->run);
        }
    }
    return runs;
}

// After an automatic selection the user has pointed at only the current job.
void WatchPage::stopSelected() {
    const LaneState* current = lanes_.find(laneList_->current());
    stop_->stop(isAuto_ && current != nullptr ? std::vector{current->run} : selectedRuns());
}

void WatchPage::resumeSelected() {
    const LaneState* current = lanes_.find(laneList_->current());
    const bool canResume = current != nullptr && current->isEnded() &&
                           current->run.state != values::RunState::kFinished;
    if (canResume) {
        stop_->resume(current->run);
    }
}

void WatchPage::focusNodes() {
    if (nodes_.numNodes() > 0) {
        nodeDeck_->card(nodes_.node(0).info.name)->setFocus(Qt::ShortcutFocusReason);
    }
}

void WatchPage::keyPressEvent(QKeyEvent* event) {
    if (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) {
        Page::keyPressEvent(event);
        return;
    }
    const int key = event->key();
    if (key >= Qt::Key_1 && key <= Qt::Key_9) {
        charts_->focusChart(key - Qt::Key_1);
    } else if (key == Qt::Key_S) {
        stopSelected();
    } else if (key == Qt::Key_L) {
        logView_->focusLog();
    } else if (key == Qt::Key_F) {
        charts_->follow();
    } else if (key == Qt::Key_R) {
        laneList_->setFocus(Qt::ShortcutFocusReason);
    } else if (key == Qt::Key_N) {
        focusNodes();
    } else {
        Page::keyPressEvent(event);
    }
}

void WatchPage::resizeEvent(QResizeEvent* event) {
    Page::resizeEvent(event);
    fitJobs();
}

void WatchPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    charts_->rebuild();  // another page may have changed a run's look
    fitJobs();
    tick(nowMs());
}

std::vector<Command> WatchPage::commands() {
    const LaneState* current = lanes_.find(laneList_->current());
    const bool canStop = current != nullptr && !current->isEnded();
    const bool canResume = current != nullptr && current->isEnded() &&
                           current->run.state != values::RunState::kFinished;
    return {
        {tr("Stop the selected runs"), QKeySequence(Qt::Key_S), [this] { stopSelected(); },
         canStop},
        {tr("Resume the selected run"), {}, [this] { resumeSelected(); }, canResume},
        {tr("Select all active runs"),
         {},
         [this] {
             isAuto_ = true;
             selectAutomatically();
         }},
        {tr("Follow the newest values"), QKeySequence(Qt::Key_F), [this] { charts_->follow(); }},
        {tr("Show everything in the charts"), {}, [this] { charts_->link()->fit(); }},
        {tr("Go to the runs"), QKeySequence(Qt::Key_R), [this] { laneList_->setFocus(); }},
        {tr("Go to the log"), QKeySequence(Qt::Key_L), [this] { logView_->focusLog(); }},
        {tr("Search the log"), QKeySequence(Qt::CTRL | Qt::Key_F),
         [this] { logView_->focusFilter(); }},
        {tr("Go to the nodes"), QKeySequence(Qt::Key_N), [this] { focusNodes(); }},
        {tr("Go to a chart"), QKeySequence(Qt::Key_1), [this] { charts_->focusChart(0); }},
        {tr("Open all nodes"), {}, [this] { nodeDeck_->setAllOpen(true); }},
        {tr("Close all nodes"), {}, [this] { nodeDeck_->setAllOpen(false); }},
    };
}

void WatchPage::saveState(QSettings& settings) const {
    settings.setValue(QStringLiteral("across"), across_->saveState());
    if (isSized_) {
        settings.setValue(QStringLiteral("down"), down_->saveState());
    }
    nodeDeck_->saveState(settings);
    charts_->saveState(settings);
    logView_->saveState(settings);
}

void WatchPage::restoreState(QSettings& settings) {
    across_->restoreState(settings.value(QStringLiteral("across")).toByteArray());
    isSized_ = down_->restoreState(settings.value(QStringLiteral("down")).toByteArray());
    nodeDeck_->restoreState(settings);
    charts_->restoreState(settings);
    logView_->restoreState(settings);
}

}  // namespace millrace::gui

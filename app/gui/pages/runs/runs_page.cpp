#include "app/gui/pages/runs/runs_page.h"

#include <QDateTime>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/runs/run_rows.h"
#include "app/gui/pages/runs/deleted_runs.h"
#include "app/gui/pages/runs/details/details_panel.h"
#include "app/gui/pages/runs/filter_bar.h"
#include "app/gui/pages/runs/parts/compare_panel.h"
#include "app/gui/pages/runs/parts/run_actions.h"
#include "app/gui/pages/runs/parts/table_export.h"
#include "app/gui/pages/runs/run_panels.h"
#include "app/gui/pages/runs/runs_body.h"
#include "app/gui/pages/runs/runs_filter.h"
#include "app/gui/pages/runs/runs_menus.h"
#include "app/gui/pages/runs/runs_view.h"
#include "app/gui/pages/runs/shown_columns.h"
#include "app/gui/pages/runs/trend_fetcher.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/look.h"

namespace millrace::gui {

using values::RunState;

namespace {

constexpr int kClockMs = 1000;
constexpr int kMostFolded = 500;  ///< fold states that are remembered

}  // namespace

RunsPage::RunsPage(const PageContext& context, QWidget* parent)
    : Page(context, parent),
      rows_(new RunRows(context.runs, this)),
      fetcher_(new TrendFetcher(context.daemon, *rows_, trends_, this)),
      deleted_(new DeletedRuns(context.daemon, this)),
      actions_(new RunActions(context.daemon, context.runs, this)) {
    build();
    connectTable();
    connectFilter();
    connectPanels();
    connectDaemon();
    addShortcuts();
    clockTimer_.setInterval(kClockMs);
    connect(&clockTimer_, &QTimer::timeout, this, [this] { tick(); });
    showRows();
}

void RunsPage::build() {
    auto* layout = boxIn<QVBoxLayout>(this, 0);
    splitter_ = new QSplitter(Qt::Horizontal, this);
    splitter_->setHandleWidth(1);
    layout->addWidget(splitter_);
    // The parts below need the table and the filter bar.
    buildLeft();
    panels_ = new RunPanels(context(), *rows_, *view_, *actions_, splitter_);
    splitter_->addWidget(panels_);
    splitter_->setStretchFactor(0, 1);
    splitter_->setStretchFactor(1, 0);
    splitter_->setCollapsible(0, false);
    splitter_->setSizes({840, 600});
    columns_ = new ShownColumns(*view_, *rows_, context().runs, this);
    rowsOut_ = new TableExport(context().daemon, [this] { return view_->selectedTexts(); }, this);
    menus_ = new RunsMenus(*rows_, *view_, *actions_, *columns_, *rowsOut_, this);
    filter_ = new RunsFilter(context().daemon, *bar_, *rows_, this);
}

void RunsPage::buildLeft() {
    auto* left = new QWidget(splitter_);
    auto* column = boxIn<QVBoxLayout>(left, 0);
    bar_ = new FilterBar(left);
    column->addWidget(bar_);
    buildTools();
    body_ = new RunsBody(left);
    view_ = new RunsView(*rows_, trends_, context().colors, body_);
    body_->setTable(*view_);
    column->addWidget(body_, 1);
    splitter_->addWidget(left);
}

void RunsPage::buildTools() {
    const auto add = [this](Glyph glyph, const QString& text, const QString& tip) {
        auto* button = new QToolButton(bar_);
        button->setIcon(icon(glyph));
        button->setText(text);
        button->setToolTip(tip);
        button->setToolButtonStyle(text.isEmpty() ? Qt::ToolButtonIconOnly
                                                  : Qt::ToolButtonTextBesideIcon);
        bar_->tools()->addWidget(button);
        return button;
    };
    nestButton_ = add(Glyph::kChevronDown, tr("Nested"), tr("Variations below their base run"));
    nestButton_->setCheckable(true);
    nestButton_->setChecked(true);
    columnsButton_ = add(Glyph::kColumns, tr("Columns"), tr("Choose columns (C)"));
    panelButton_ = add(Glyph::kInfo, tr("Details"), tr("Show or hide the panel (Ctrl+I)"));
    panelButton_->setCheckable(true);
    panelButton_->setChecked(true);
    connect(nestButton_, &QToolButton::toggled, this,
            [this](bool isOn) { rows_->setNested(isOn); });
    connect(columnsButton_, &QToolButton::clicked, this, [this] { openChooser(); });
    connect(panelButton_, &QToolButton::toggled, this, [this] { showRows(); });
}

void RunsPage::connectTable() {
    connect(rows_, &RunRows::matchesChanged, this, [this] { showRows(); });
    connect(rows_, &RunRows::ticksChanged, panels_, &RunPanels::selectionChanged);
    connect(view_, &RunsView::selectionChanged, panels_, &RunPanels::selectionChanged);
    connect(view_, &RunsView::viewportChanged, this, [this] { lookAtTrends(); });
    connect(view_, &RunsView::opened, this, [this] { openDetails(); });
    connect(view_, &RunsView::menuAsked, this,
            [this](const QPoint& at) { menus_->openOfRuns(bar_->isDeletedShown(), at); });
    connect(view_, &RunsView::headerMenuAsked, menus_,
            [this](const QString& key, const QPoint& at) { menus_->openOfColumn(key, at); });
    connect(menus_, &RunsMenus::detailsAsked, this, [this] { openDetails(); });
    connect(menus_, &RunsMenus::chooserAsked, this, [this] { openChooser(); });
}

void RunsPage::connectFilter() {
    connect(filter_, &RunsFilter::applied, this, [this] { showRows(); });
    connect(bar_, &FilterBar::deletedChanged, this,
            [this](bool isShown) { setDeletedShown(isShown); });
    connect(bar_, &FilterBar::leftToRows, this, [this] { view_->focusRows(); });
    connect(deleted_, &DeletedRuns::changed, this, [this] { showRows(); });
    connect(deleted_, &DeletedRuns::failed, this,
            [this](const QString& sentence) { say(Notice::Kind::kError, sentence); });
    connect(body_, &RunsBody::clearAsked, this, [this] { clearFilter(); });
    connect(body_, &RunsBody::launchAsked, this, [this] {
        Destination destination;
        destination.page = PageName::kLaunch;
        Q_EMIT goTo(destination);
    });
}

void RunsPage::connectPanels() {
    connect(actions_, &RunActions::said, this, &Page::said);
    connect(rowsOut_, &TableExport::said, this, &Page::said);
    connect(&panels_->compare(), &ComparePanel::noticed, this, &Page::said);
    connect(actions_, &RunActions::goTo, this, &Page::goTo);
    connect(actions_, &RunActions::deletedChanged, this, [this] {
        if (bar_->isDeletedShown()) {
            deleted_->read();
        }
    });
    connect(panels_, &RunPanels::said, this,
            [this](const QString& sentence) { say(Notice::Kind::kInfo, sentence); });
}

void RunsPage::connectDaemon() {
    DaemonBridge& daemon = context().daemon;
    connect(&daemon, &DaemonBridge::switched, this, [this] { leaveDaemon(); });
    connect(&daemon, &DaemonBridge::linkChanged, this, [this] {
        refreshAway();
        showRows();
    });
    refreshAway();
    connect(&daemon, &DaemonBridge::runsChanged, this,
            [this](const RunsDelta& delta) { takeRuns(delta); });
}

void RunsPage::refreshAway() {
    const bool isAway = context().daemon.link().state != session::LinkState::kConnected;
    view_->setAway(isAway);
    details().setAway(isAway);
}

void RunsPage::leaveDaemon() {
    isComplete_ = false;
    filter_->drop();
    trends_.clear();
    fetcher_->clear();
    panels_->drop();
    deleted_->clear();
    showRows();
}

void RunsPage::takeRuns(const RunsDelta& delta) {
    // A list of runs comes in several deliveries. Until the last one the page may not say that
    // there are no runs.
    isComplete_ = isComplete_ || delta.isComplete;
    columns_->chooseUsual();
    showRows();
    panels_->refresh();
    filter_->runsChanged();
    // Runs that were just launched may arrive after the page was asked to show them.
    if (!arriving_.empty()) {
        arrive({PageName::kRuns, std::exchange(arriving_, {})});
    }
    lookAtTrends();
}

void RunsPage::addShortcuts() {
    addKey(Qt::Key_Slash, this, [this] { bar_->focusLine(); });
    addKey(QKeySequence("Ctrl+F"), this, [this] { bar_->focusLine(); });
    addKey(Qt::Key_C, this, [this] { openChooser(); });
    addKey(Qt::Key_F2, this, [this] { editNote(); });
    addKey(QKeySequence("Ctrl+I"), this, [this] { panelButton_->toggle(); });
    addKey(QKeySequence("Ctrl+Shift+C"), this, [this] { actions_->copyIds(selected()); });
    addKey(QKeySequence("Ctrl+R"), this, [this] { actions_->launchAgain(selected()); });
    addKey(QKeySequence("Ctrl+Shift+L"), this, [this] {
        if (const auto ids = selected(); ids.size() == 1) {
            actions_->changeAndLaunch(ids.front());
        }
    });
    // Keys of the table only: in the note or the filter they edit text.
    addKey(QKeySequence::Delete, view_, [this] {
        if (!bar_->isDeletedShown()) {
            actions_->remove(selected());
        }
    });
    addKey(QKeySequence::Copy, view_, [this] { rowsOut_->copy(); });
    addKey(Qt::Key_Escape, panels_, [this] { view_->focusRows(); });
}

DetailsPanel& RunsPage::details() const {
    return panels_->details();
}

ComparePanel& RunsPage::compare() const {
    return panels_->compare();
}

std::vector<std::string> RunsPage::selected() const {
    return view_->selectedIds();
}

ColumnChooser* RunsPage::openChooser() {
    return columns_->openChooser(*columnsButton_);
}

std::vector<Command> RunsPage::commands() {
    const std::vector<std::string> ids = selected();
    const bool hasOne = ids.size() == 1, hasAny = !ids.empty();
    const QString what = hasOne   ? tr("the selected run")
                         : hasAny ? tr("%1 selected runs").arg(ids.size())
                                  : tr("the selected runs");
    const auto toggleTick = [this] {
        const std::string id = view_->currentId();
        rows_->setTicked(id, !rows_->isTicked(id));
    };
    const auto toggleDeleted = [this] { bar_->setDeletedShown(!bar_->isDeletedShown()); };
    return {
        {tr("Filter runs"), Qt::Key_Slash, [this] { bar_->focusLine(); }, true},
        {tr("Choose columns"), Qt::Key_C, [this] { openChooser(); }, true},
        {tr("Open details"), Qt::Key_Return, [this] { openDetails(); }, hasAny},
        {tr("Compare: add or remove the current run"), Qt::Key_Space, toggleTick,
         !view_->currentId().empty()},
        {tr("Compare: take all runs out"),
         {},
         [this] { rows_->clearTicks(); },
         !rows_->ticked().empty()},
        {tr("Edit the note"), Qt::Key_F2, [this] { editNote(); }, hasOne},
        {tr("Watch %1").arg(what), {}, [this, ids] { actions_->watch(ids); }, hasAny},
        {tr("Stop %1").arg(what), {}, [this, ids] { actions_->stop(ids); }, hasAny},
        {tr("Launch %1 again").arg(what), QKeySequence("Ctrl+R"),
         [this, ids] { actions_->launchAgain(ids); }, hasAny},
        {tr("Change and launch the selected run"), QKeySequence("Ctrl+Shift+L"),
         [this, ids] { actions_->changeAndLaunch(ids.front()); }, hasOne},
        {tr("Copy as CLI"), {}, [this, ids] { actions_->copyCommand(ids.front()); }, hasOne},
        {tr("Copy rows as a table"), QKeySequence::Copy, [this] { rowsOut_->copy(); }, hasAny},
        {tr("Copy rows as Markdown"), {}, [this] { rowsOut_->copyMarkdown(); }, hasAny},
        {tr("Save rows as CSV or Markdown"), {}, [this] { rowsOut_->save(); }, hasAny},
        {tr("Copy ids"), QKeySequence("Ctrl+Shift+C"), [this, ids] { actions_->copyIds(ids); },
         hasAny},
        {tr("Delete %1").arg(what), QKeySequence::Delete, [this, ids] { actions_->remove(ids); },
         hasAny && !bar_->isDeletedShown()},
        {tr("Show deleted runs"), {}, toggleDeleted, true},
        {tr("Nest variations below their base"), {}, [this] { nestButton_->toggle(); }, true},
        {tr("Fold all variations"),
         {},
         [this] { rows_->setAllExpanded(false); },
         rows_->isNested()},
        {tr("Unfold all variations"),
         {},
         [this] { rows_->setAllExpanded(true); },
         rows_->isNested()},
        {tr("Show or hide the details"), QKeySequence("Ctrl+I"), [this] { panelButton_->toggle(); },
         true},
    };
}

void RunsPage::arrive(const Destination& destination) {
    if (destination.runIds.empty()) {
        return;
    }
    if (std::ranges::none_of(destination.runIds,
                             [this](const auto& id) { return context().runs.rowOf(id) >= 0; })) {
        arriving_ = destination.runIds;
        return;
    }
    bar_->setDeletedShown(false);
    // rowOf() below must see the new order, which otherwise follows after a delay.
    rows_->settle();
    if (rows_->rowOf(destination.runIds.front()) < 0) {
        clearFilter();
        rows_->setAllExpanded(true);
    }
    view_->select(destination.runIds);
    panelButton_->setChecked(true);
    view_->focusRows();
}

bool RunsPage::isSettled() const {
    return filter_->isSettled() && deleted_->isSettled() && fetcher_->isSettled() &&
           panels_->isSettled();
}

void RunsPage::saveState(QSettings& settings) const {
    settings.beginGroup("runs");
    columns_->save(settings);
    bar_->save(settings);
    settings.setValue("sort", rows_->sortKey());
    settings.setValue("descending", rows_->sortOrder() == Qt::DescendingOrder);
    settings.setValue("nested", rows_->isNested());
    settings.setValue("folded", QStringList(rows_->folded().values()).mid(0, kMostFolded));
    settings.setValue("splitter", splitter_->saveState());
    settings.setValue("panel", panelButton_->isChecked());
    panels_->save(settings);
    settings.endGroup();
}

void RunsPage::restoreState(QSettings& settings) {
    settings.beginGroup("runs");
    columns_->restore(settings);
    bar_->restore(settings);
    rows_->setSort(
        settings.value("sort", "created").toString(),
        settings.value("descending", true).toBool() ? Qt::DescendingOrder : Qt::AscendingOrder);
    nestButton_->setChecked(settings.value("nested", true).toBool());
    const QStringList folded = settings.value("folded").toStringList();
    rows_->setFolded(QSet<QString>(folded.begin(), folded.end()));
    splitter_->restoreState(settings.value("splitter").toByteArray());
    panelButton_->setChecked(settings.value("panel", true).toBool());
    panels_->restore(settings);
    settings.endGroup();
}

void RunsPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    panels_->fitWidth();
    clockTimer_.start();
    tick();
    if (view_->currentId().empty()) {
        view_->focusRows();
    }
}

void RunsPage::hideEvent(QHideEvent* event) {
    Page::hideEvent(event);
    clockTimer_.stop();
}

void RunsPage::tick() {
    rows_->table().setNow(QDateTime::currentMSecsSinceEpoch());
    details().refresh();
    lookAtTrends();
}

void RunsPage::lookAtTrends() {
    const auto [first, last] = view_->visibleRows();
    fetcher_->look(first, last);
}

// Updates the counts above the table, and shows the table or why there is none.
void RunsPage::showRows() {
    const RunTable& runs = rows_->table();
    std::map<RunState, int> counts;
    for (const RunState state :
         {RunState::kQueued, RunState::kStarting, RunState::kRunning, RunState::kStopping,
          RunState::kFinished, RunState::kFailed, RunState::kCancelled}) {
        counts[state] = runs.numInState(state);
    }
    bar_->setCounts(counts);
    bar_->setMatches(rows_->numMatching(), runs.numRuns());
    const bool isDeletedShown = bar_->isDeletedShown();
    const DaemonBridge& daemon = context().daemon;
    const bool isNew = body_->showFor(
        {runs.numRuns(), rows_->rowCount(), isDeletedShown, isComplete_, !daemon.address().empty()},
        daemon.link());
    // The table appears for the first time: the keys go to it, unless the user is typing a filter.
    if (isNew && isVisible() && bar_->text().isEmpty()) {
        view_->focusRows();
    }
    panels_->setVisible(panelButton_->isChecked() && (runs.numRuns() > 0 || isDeletedShown));
}

void RunsPage::clearFilter() {
    filter_->clear();
    view_->focusRows();
}

void RunsPage::setDeletedShown(bool isShown) {
    RunTable& table = isShown ? deleted_->table() : context().runs;
    // Ticks and details belong to the table that was shown.
    rows_->clearTicks();
    details().setTable(table);
    rows_->setTable(table);
    if (isShown) {
        deleted_->read();
    }
    filter_->askAgain();
    showRows();
}

void RunsPage::openDetails() {
    panelButton_->setChecked(true);
    panels_->openDetails();
}

void RunsPage::editNote() {
    panelButton_->setChecked(true);
    panels_->editNote();
}

void RunsPage::say(Notice::Kind kind, const QString& sentence) {
    Q_EMIT said({kind, sentence});
}

}  // namespace millrace::gui

#include "app/gui/pages/runs/runs_page.h"

#include <QDateTime>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/models/run_text.h"
#include "app/gui/pages/runs/details/details_panel.h"
#include "app/gui/pages/runs/filter_bar.h"
#include "app/gui/pages/runs/parts/chart_board.h"
#include "app/gui/pages/runs/parts/compare_panel.h"
#include "app/gui/pages/runs/parts/run_actions.h"
#include "app/gui/pages/runs/runs_view.h"
#include "app/gui/pages/runs/trend_fetcher.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kFilterMs = 180;     ///< after the last letter of an expression
constexpr int kRefilterMs = 1500;  ///< after a change of the runs
constexpr int kParamMs = 400;
constexpr int kClockMs = 1000;

}  // namespace

RunsPage::RunsPage(const PageContext& context, QWidget* parent)
    : Page(context, parent),
      deletedRuns_(std::make_unique<RunTable>()),
      rows_(new RunRows(context.runs, this)),
      actions_(new RunActions(context.daemon, context.runs, this)) {
    fetcher_ = new TrendFetcher(context.daemon, *rows_, trends_, this);
    build();
    connectTable();
    connectPanels();
    connectDaemon();
    addShortcuts();
    showCounts();
    showEmpty();
}

RunsPage::~RunsPage() = default;

void RunsPage::build() {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    splitter_ = new QSplitter(Qt::Horizontal, this);
    splitter_->setHandleWidth(1);
    layout->addWidget(splitter_);
    buildLeft();
    buildRight();
    splitter_->setStretchFactor(0, 1);
    splitter_->setStretchFactor(1, 0);
    splitter_->setCollapsible(0, false);
    splitter_->setSizes({840, 600});
}

void RunsPage::buildLeft() {
    auto* left = new QWidget(splitter_);
    auto* column = new QVBoxLayout(left);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    filter_ = new FilterBar(left);
    column->addWidget(filter_);
    buildTools();
    body_ = new QStackedWidget(left);
    view_ = new RunsView(*rows_, trends_, context().colors, body_);
    body_->addWidget(view_);
    buildEmpty();
    column->addWidget(body_, 1);
    splitter_->addWidget(left);
}

void RunsPage::buildTools() {
    const auto add = [this](Glyph glyph, const QString& text, const QString& tip) {
        auto* button = new QToolButton(filter_);
        button->setIcon(icon(glyph));
        button->setText(text);
        button->setToolTip(tip);
        button->setToolButtonStyle(text.isEmpty() ? Qt::ToolButtonIconOnly
                                                  : Qt::ToolButtonTextBesideIcon);
        filter_->tools()->addWidget(button);
        return button;
    };
    nestButton_ = add(Glyph::kChevronDown, "Nested", "Variations below their base run");
    nestButton_->setCheckable(true);
    nestButton_->setChecked(true);
    columnsButton_ = add(Glyph::kColumns, "Columns", "Choose columns (C)");
    panelButton_ = add(Glyph::kInfo, "Details", "Show or hide the panel (Ctrl+I)");
    panelButton_->setCheckable(true);
    panelButton_->setChecked(true);
    connect(nestButton_, &QToolButton::toggled, this,
            [this](bool isOn) { rows_->setNested(isOn); });
    connect(columnsButton_, &QToolButton::clicked, this, [this] { openChooser(); });
    connect(panelButton_, &QToolButton::toggled, this, [this] { showEmpty(); });
}

void RunsPage::buildEmpty() {
    const auto add = [this](const QString& title, const QString& sentence) {
        auto* state = new EmptyState(body_);
        state->setText(title, sentence);
        body_->addWidget(state);
        return state;
    };
    noDaemon_ = add("No daemon", "Start one on this machine, or choose another above.");
    noDaemon_->setCommand("millrace up");
    noRuns_ =
        add("No runs yet",
            "Open a spec on the Launch page and press Ctrl+Enter, or start one in a terminal.");
    noRuns_->addButton("Go to Launch", this, [this] {
        Destination destination;
        destination.page = PageName::kLaunch;
        Q_EMIT goTo(destination);
    });
    noRuns_->setCommand("millrace run movielens.yaml --all-variations");
    noMatch_ = add("No run matches", "");
    noMatch_->addButton("Clear the filter", this, [this] { clearFilter(); });
    reading_ = add("Reading the runs …", "");
}

void RunsPage::buildRight() {
    tabs_ = new QTabWidget(splitter_);
    tabs_->setDocumentMode(true);
    details_ =
        new DetailsPanel(context().daemon, context().runs, context().colors, *actions_, tabs_);
    compare_ = new ComparePanel(context().daemon, context().runs, context().colors, tabs_);
    tabs_->addTab(details_, "Details");
    tabs_->addTab(compare_, "Compare");
    tabs_->setMinimumWidth(details_->tabsWidth());
    splitter_->addWidget(tabs_);
}

void RunsPage::connectTable() {
    filterTimer_.setSingleShot(true);
    filterTimer_.setInterval(kFilterMs);
    refilterTimer_.setSingleShot(true);
    refilterTimer_.setInterval(kRefilterMs);
    paramTimer_.setSingleShot(true);
    paramTimer_.setInterval(kParamMs);
    selectionTimer_.setSingleShot(true);
    clockTimer_.setInterval(kClockMs);
    connect(&filterTimer_, &QTimer::timeout, this, [this] { askFilter(); });
    connect(&refilterTimer_, &QTimer::timeout, this, [this] { askFilter(); });
    connect(&paramTimer_, &QTimer::timeout, this, [this] { needParams(); });
    connect(&selectionTimer_, &QTimer::timeout, this, [this] { showPanels(); });
    connect(&clockTimer_, &QTimer::timeout, this, [this] { tick(); });
    connect(rows_, &RunRows::matchesChanged, this, [this] {
        showCounts();
        showEmpty();
    });
    connect(rows_, &RunRows::ticksChanged, this, [this] { showSelection(); });
    connect(view_, &RunsView::selectionChanged, this, [this] { showSelection(); });
    connect(view_, &RunsView::viewportChanged, this, [this] {
        const auto [first, last] = view_->visibleRows();
        fetcher_->look(first, last);
    });
    connect(view_, &RunsView::opened, this, [this] { openDetails(); });
    connect(view_, &RunsView::columnsChanged, this, [this] { hasColumns_ = true; });
    connect(view_, &RunsView::menuAsked, this, [this](const QPoint& at) { openMenu(at); });
    connect(view_, &RunsView::headerMenuAsked, this,
            [this](const QString& key, const QPoint& at) { openHeaderMenu(key, at); });
    connect(filter_, &FilterBar::textChanged, this, [this] { takeText(); });
    connect(filter_, &FilterBar::statesChanged, this, [this] {
        wanted_.states = filter_->states();
        applyFilter();
    });
    connect(filter_, &FilterBar::deletedChanged, this,
            [this](bool isShown) { setDeletedShown(isShown); });
    connect(filter_, &FilterBar::leftToRows, this, [this] { view_->focusRows(); });
    connect(filter_, &FilterBar::namesNeeded, this, [this] { giveNames(); });
}

void RunsPage::connectPanels() {
    connect(actions_, &RunActions::said, this, &Page::said);
    connect(actions_, &RunActions::goTo, this, &Page::goTo);
    connect(actions_, &RunActions::deletedChanged, this, [this] {
        if (filter_->isDeletedShown()) {
            fetchDeleted("");
        }
    });
    const auto sayInfo = [this](const QString& sentence) {
        Notice notice;
        notice.text = sentence;
        Q_EMIT said(notice);
    };
    connect(details_, &DetailsPanel::said, this, sayInfo);
    connect(compare_, &ComparePanel::said, this, sayInfo);
}

void RunsPage::connectDaemon() {
    DaemonBridge& daemon = context().daemon;
    connect(&daemon, &DaemonBridge::switched, this, [this] {
        ++epoch_;
        ++filterSerial_;
        numOpen_ = 0;
        isComplete_ = isReadingParams_ = false;
        paramRevision_ = 0;
        trends_.clear();
        fetcher_->clear();
        details_->clear();
        compare_->clear();
        deletedRuns_->clear();
        showEmpty();
    });
    connect(&daemon, &DaemonBridge::linkChanged, this, [this] { showEmpty(); });
    connect(&daemon, &DaemonBridge::runsChanged, this, [this](const RunsDelta& delta) {
        isComplete_ = isComplete_ || delta.isComplete;
        chooseUsualColumns();
        showCounts();
        showEmpty();
        details_->refresh();
        compare_->refresh();
        if (isByDaemon_ && !refilterTimer_.isActive()) {
            refilterTimer_.start();
        }
        if (!paramTimer_.isActive()) {
            paramTimer_.start();
        }
        if (!arriving_.empty()) {
            arrive({PageName::kRuns, std::exchange(arriving_, {}), {}, {}});
        }
        const auto [first, last] = view_->visibleRows();
        fetcher_->look(first, last);
    });
}

void RunsPage::addKey(const QKeySequence& key, std::function<void()> run) {
    auto* shortcut = new QShortcut(key, this);
    shortcut->setContext(Qt::WidgetWithChildrenShortcut);
    connect(shortcut, &QShortcut::activated, this, std::move(run));
}

void RunsPage::addShortcuts() {
    addKey(Qt::Key_Slash, [this] { filter_->focusLine(); });
    addKey(QKeySequence("Ctrl+F"), [this] { filter_->focusLine(); });
    addKey(Qt::Key_C, [this] { openChooser(); });
    addKey(Qt::Key_F2, [this] {
        panelButton_->setChecked(true);
        tabs_->setCurrentWidget(details_);
        details_->editNote();
    });
    addKey(QKeySequence("Ctrl+I"), [this] { panelButton_->toggle(); });
    addKey(QKeySequence("Ctrl+Shift+C"), [this] { actions_->copyIds(selected()); });
    auto* remove = new QShortcut(QKeySequence::Delete, view_);
    remove->setContext(Qt::WidgetWithChildrenShortcut);
    connect(remove, &QShortcut::activated, this, [this] {
        if (!filter_->isDeletedShown()) {
            actions_->remove(selected());
        }
    });
    auto* copy = new QShortcut(QKeySequence::Copy, view_);
    copy->setContext(Qt::WidgetWithChildrenShortcut);
    connect(copy, &QShortcut::activated, this, [this] {
        view_->copySelected();
        Notice notice;
        notice.text = QString("Copied %1 rows as a table.").arg(selected().size());
        Q_EMIT said(notice);
    });
    auto* back = new QShortcut(Qt::Key_Escape, tabs_);
    back->setContext(Qt::WidgetWithChildrenShortcut);
    connect(back, &QShortcut::activated, this, [this] { view_->focusRows(); });
}

std::vector<std::string> RunsPage::selected() const {
    return view_->selectedIds();
}

std::vector<Command> RunsPage::commands() {
    const std::vector<std::string> ids = selected();
    const bool hasOne = ids.size() == 1, hasAny = !ids.empty();
    const QString what = hasOne ? "the selected run" : QString("%1 selected runs").arg(ids.size());
    const auto focusFilter = [this] { filter_->focusLine(); };
    std::vector<Command> commands = {
        {"Filter runs", Qt::Key_Slash, focusFilter, true},
        {"Choose columns", Qt::Key_C, [this] { openChooser(); }, true},
        {"Open details", Qt::Key_Return, [this] { openDetails(); }, hasAny},
        {"Compare: add or remove the current run", Qt::Key_Space,
         [this] {
             const std::string id = view_->currentId();
             rows_->setTicked(id, !rows_->isTicked(id));
         },
         !view_->currentId().empty()},
        {"Compare: take all runs out",
         {},
         [this] { rows_->clearTicks(); },
         !rows_->ticked().empty()},
        {"Edit the note", Qt::Key_F2, [this] { details_->editNote(); }, hasOne},
        {"Watch " + what, {}, [this, ids] { actions_->watch(ids); }, hasAny},
        {"Stop " + what, {}, [this, ids] { actions_->stop(ids); }, hasAny},
        {"Launch again", {}, [this, ids] { actions_->launchAgain(ids.front()); }, hasOne},
        {"Copy as CLI", {}, [this, ids] { actions_->copyCommand(ids.front()); }, hasOne},
        {"Copy rows as a table", QKeySequence::Copy, [this] { view_->copySelected(); }, hasAny},
        {"Copy ids", QKeySequence("Ctrl+Shift+C"), [this, ids] { actions_->copyIds(ids); }, hasAny},
        {"Delete " + what, QKeySequence::Delete, [this, ids] { actions_->remove(ids); },
         hasAny && !filter_->isDeletedShown()},
        {"Show deleted runs",
         {},
         [this] { filter_->setDeletedShown(!filter_->isDeletedShown()); },
         true},
        {"Nest variations below their base", {}, [this] { nestButton_->toggle(); }, true},
        {"Fold all variations", {}, [this] { rows_->setAllExpanded(false); }, rows_->isNested()},
        {"Unfold all variations", {}, [this] { rows_->setAllExpanded(true); }, rows_->isNested()},
        {"Show or hide the details", QKeySequence("Ctrl+I"), [this] { panelButton_->toggle(); },
         true},
    };
    return commands;
}

void RunsPage::arrive(const Destination& destination) {
    if (destination.runIds.empty()) {
        return;
    }
    if (std::none_of(destination.runIds.begin(), destination.runIds.end(),
                     [this](const auto& id) { return context().runs.rowOf(id) >= 0; })) {
        arriving_ = destination.runIds;
        return;
    }
    filter_->setDeletedShown(false);
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
    return numOpen_ == 0 && !filterTimer_.isActive() && !selectionTimer_.isActive() &&
           fetcher_->isSettled() && details_->isSettled() && compare_->isSettled();
}

void RunsPage::saveState(QSettings& settings) const {
    settings.beginGroup("runs");
    if (hasColumns_) {
        view_->columns().save(settings);
    }
    filter_->save(settings);
    settings.setValue("sort", rows_->sortKey());
    settings.setValue("descending", rows_->sortOrder() == Qt::DescendingOrder);
    settings.setValue("nested", rows_->isNested());
    settings.setValue("folded", QStringList(rows_->folded().values()).mid(0, 500));
    settings.setValue("splitter", splitter_->saveState());
    settings.setValue("panel", panelButton_->isChecked());
    details_->save(settings);
    compare_->save(settings);
    settings.endGroup();
}

void RunsPage::restoreState(QSettings& settings) {
    settings.beginGroup("runs");
    RunColumns columns;
    if (columns.restore(settings)) {
        hasColumns_ = true;
        view_->setColumns(columns);
    }
    filter_->restore(settings);
    rows_->setSort(
        settings.value("sort", "created").toString(),
        settings.value("descending", true).toBool() ? Qt::DescendingOrder : Qt::AscendingOrder);
    nestButton_->setChecked(settings.value("nested", true).toBool());
    const QStringList folded = settings.value("folded").toStringList();
    rows_->setFolded(QSet<QString>(folded.begin(), folded.end()));
    splitter_->restoreState(settings.value("splitter").toByteArray());
    panelButton_->setChecked(settings.value("panel", true).toBool());
    details_->restore(settings);
    compare_->restore(settings);
    settings.endGroup();
    needParams();
}

void RunsPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    tabs_->setMinimumWidth(details_->tabsWidth());
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
    details_->refresh();
    const auto [first, last] = view_->visibleRows();
    fetcher_->look(first, last);
}

}  // namespace millrace::gui

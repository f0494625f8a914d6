// What the page of runs shows for the selection, and its menus.
#include <QMenu>
#include <QStackedWidget>
#include <QTabWidget>
#include <QToolButton>
#include <algorithm>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/pages/runs/column_chooser.h"
#include "app/gui/pages/runs/details/details_panel.h"
#include "app/gui/pages/runs/filter_bar.h"
#include "app/gui/pages/runs/parts/compare_panel.h"
#include "app/gui/pages/runs/parts/run_actions.h"
#include "app/gui/pages/runs/runs_page.h"
#include "app/gui/pages/runs/runs_view.h"
#include "app/gui/widgets/panels.h"

namespace millrace::gui {

using client::RunState;

namespace {

/// Selections that follow faster than this (an arrow key that is held) are shown one in so long.
constexpr int kFastMs = 40;
/// While no run has been evaluated yet, the columns are chosen anew this often.
constexpr int kColumnsMs = 3'000;

}  // namespace

void RunsPage::showCounts() {
    std::map<RunState, int> counts;
    const RunTable& runs = rows_->table();
    for (const RunState state :
         {RunState::kQueued, RunState::kStarting, RunState::kRunning, RunState::kStopping,
          RunState::kFinished, RunState::kFailed, RunState::kCancelled}) {
        counts[state] = runs.numInState(state);
    }
    filter_->setCounts(counts);
    filter_->setMatches(rows_->numMatching(), runs.numRuns());
}

void RunsPage::showEmpty() {
    const session::Link& link = context().daemon.link();
    const bool isAway = link.state == session::LinkState::kReconnecting ||
                        link.state == session::LinkState::kRefused;
    const bool hasRuns = rows_->table().numRuns() > 0;
    QWidget* shown = view_;
    if (!hasRuns && filter_->isDeletedShown()) {
        noMatch_->setText("No deleted runs",
                          "Deleted runs stay here; those that were not purged can be restored.");
        shown = noMatch_;
    } else if (!hasRuns && (isAway || context().daemon.address().empty())) {
        noDaemon_->setText("No daemon", link.sentence.empty()
                                            ? "Start one on this machine, or choose another above."
                                            : asSentence(link.sentence));
        shown = noDaemon_;
    } else if (!hasRuns) {
        shown = isComplete_ ? noRuns_ : reading_;
    } else if (rows_->rowCount() == 0) {
        noMatch_->setText("No run matches",
                          QString("%1 runs are there, none of them fits the filter.")
                              .arg(countText(rows_->table().numRuns())));
        shown = noMatch_;
    }
    const bool isNew = shown == view_ && body_->currentWidget() != view_;
    body_->setCurrentWidget(shown);
    if (isNew && isVisible() && filter_->text().isEmpty()) {
        view_->focusRows();
    }
    tabs_->setVisible(panelButton_->isChecked() && (hasRuns || filter_->isDeletedShown()));
}

// The first runs tell which metrics there are to show.
void RunsPage::chooseUsualColumns() {
    const bool isSoon = sinceColumns_.isValid() && sinceColumns_.elapsed() < kColumnsMs;
    if (hasColumns_ || context().runs.numRuns() == 0 || isSoon) {
        return;
    }
    sinceColumns_.start();
    std::vector<std::string> evaluated;
    const std::vector<std::string> all = inUsualOrder(context().runs.metricNames());
    for (const std::string& name : all) {
        // Every run has the figures of its first head under names without it.
        const bool isTwin = std::find(all.begin(), all.end(), withoutHead(name)) != all.end();
        if (isEvalMetric(name) && !isTwin) {
            evaluated.push_back(name);
        }
    }
    RunColumns columns;
    columns.reset(evaluated);
    if (!(columns == view_->columns())) {
        view_->setColumns(columns);
    }
    hasColumns_ = !evaluated.empty();
}

void RunsPage::showSelection() {
    if (!selectionTimer_.isActive()) {
        const bool isFast = sinceSelection_.isValid() && sinceSelection_.elapsed() < kFastMs;
        selectionTimer_.start(isFast ? kFastMs : 0);
    }
    sinceSelection_.start();
}

// Compared are the ticked runs; with fewer than two of them, the selected ones too.
void RunsPage::showPanels() {
    std::vector<std::string> compared = rows_->ticked();
    const std::vector<std::string> chosen = selected();
    if (compared.size() < 2) {
        for (const std::string& id : chosen) {
            if (std::find(compared.begin(), compared.end(), id) == compared.end()) {
                compared.push_back(id);
            }
        }
    }
    if (compared.size() < 2) {
        compared.clear();
    }
    std::vector<std::string> coloured = compared;
    const std::string current = view_->currentId();
    coloured.push_back(current);
    context().colors.assign(coloured);
    const bool isMore = compared.size() > compare_->runs().size();
    compare_->setRuns(compared);
    details_->setRun(current);
    tabs_->setTabText(
        1, compared.empty() ? QString("Compare") : QString("Compare  %1").arg(compared.size()));
    tabs_->setTabEnabled(1, !compared.empty());
    if (isMore && chosen.size() != 1) {
        tabs_->setCurrentWidget(compare_);
    } else if (isMore && rows_->ticked().size() >= 2) {
        tabs_->setCurrentWidget(compare_);
    } else if (compared.empty()) {
        tabs_->setCurrentWidget(details_);
    }
}

void RunsPage::openDetails() {
    panelButton_->setChecked(true);
    showPanels();
    tabs_->setCurrentWidget(details_);
    details_->focusTabs();
}

void RunsPage::setColumns(const RunColumns& columns) {
    hasColumns_ = true;
    view_->setColumns(columns);
    needParams();
}

ColumnChooser* RunsPage::openChooser() {
    fetchParams("", 0);
    const RunTable& runs = rows_->table();
    auto* chooser = new ColumnChooser(
        view_->columns(), {runs.metricNames(), runs.paramNames(), runs.tagNames()}, this);
    chooser->setAttribute(Qt::WA_DeleteOnClose);
    connect(chooser, &ColumnChooser::changed, this,
            [this](const RunColumns& columns) { setColumns(columns); });
    connect(chooser, &ColumnChooser::resetAsked, this, [this] {
        hasColumns_ = false;
        sinceColumns_.invalidate();
        view_->setColumns(RunColumns());
        chooseUsualColumns();
    });
    connect(this, &RunsPage::paramsRead, chooser,
            [this, chooser] { chooser->offerParams(rows_->table().paramNames()); });
    const QPoint below = columnsButton_->mapToGlobal(QPoint(columnsButton_->width(), 0));
    chooser->move(below.x() - chooser->width(), below.y() + columnsButton_->height() + 2);
    chooser->show();
    return chooser;
}

void RunsPage::openHeaderMenu(const QString& key, const QPoint& position) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (!key.isEmpty()) {
        bool isPinned = false;
        for (const ShownColumn& shown : view_->columns().shown()) {
            isPinned = isPinned || (shown.key == key && shown.isPinned);
        }
        menu->addAction("Sort ascending", this,
                        [this, key] { rows_->setSort(key, Qt::AscendingOrder); });
        menu->addAction("Sort descending", this,
                        [this, key] { rows_->setSort(key, Qt::DescendingOrder); });
        menu->addSeparator();
        menu->addAction(isPinned ? "Unpin" : "Pin to the left", this, [this, key, isPinned] {
            RunColumns columns = view_->columns();
            columns.setPinned(key, !isPinned);
            setColumns(columns);
        });
        menu->addAction("Fit the width", this, [this, key] { view_->fitColumn(key); });
        menu->addAction("Remove", this, [this, key] {
            RunColumns columns = view_->columns();
            columns.remove(key);
            setColumns(columns);
        });
        menu->addSeparator();
    }
    menu->addAction("Choose columns …", this, [this] { openChooser(); });
    menu->popup(position);
}

void RunsPage::openMenu(const QPoint& position) {
    const std::vector<std::string> ids = selected();
    if (ids.empty()) {
        return;
    }
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const bool isDeleted = filter_->isDeletedShown();
    const bool hasOne = ids.size() == 1;
    bool isActive = false, hasEnded = false, hasRestorable = false;
    for (const std::string& id : ids) {
        const client::RunSummary* run = rows_->table().find(id);
        isActive = isActive || (run != nullptr && !client::isEnded(run->state));
        hasEnded = hasEnded || (run != nullptr && client::isEnded(run->state));
        hasRestorable = hasRestorable || (run != nullptr && !run->isPurged());
    }
    menu->addAction("Open details", this, [this] { openDetails(); })->setEnabled(hasOne);
    menu->addAction("Add to the comparison", this, [this, ids] {
        for (const std::string& id : ids) {
            rows_->setTicked(id, true);
        }
    });
    menu->addAction("Watch", this, [this, ids] { actions_->watch(ids); })->setEnabled(!isDeleted);
    menu->addSeparator();
    menu->addAction("Launch again", this, [this, ids] { actions_->launchAgain(ids.front()); })
        ->setEnabled(hasOne);
    menu->addAction("Copy as CLI", this, [this, ids] { actions_->copyCommand(ids.front()); })
        ->setEnabled(hasOne);
    menu->addAction("Copy rows", this, [this] { view_->copySelected(); });
    menu->addAction(hasOne ? "Copy id" : "Copy ids", this, [this, ids] { actions_->copyIds(ids); });
    menu->addSeparator();
    if (isDeleted) {
        menu->addAction("Restore", this, [this, ids] { actions_->restore(ids); })
            ->setEnabled(hasRestorable);
    } else {
        menu->addAction("Stop …", this, [this, ids] { actions_->stop(ids); })->setEnabled(isActive);
        menu->addAction("Delete", this, [this, ids] { actions_->remove(ids); })
            ->setEnabled(hasEnded);
    }
    menu->popup(position);
}

}  // namespace millrace::gui

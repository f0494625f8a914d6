#include "app/gui/pages/runs/runs_menus.h"

#include <QMenu>
#include <algorithm>

#include "app/gui/models/runs/run_rows.h"
#include "app/gui/pages/runs/parts/run_actions.h"
#include "app/gui/pages/runs/parts/table_export.h"
#include "app/gui/pages/runs/runs_view.h"
#include "app/gui/pages/runs/shown_columns.h"

namespace millrace::gui {

RunsMenus::RunsMenus(RunRows& rows, RunsView& view, RunActions& actions, ShownColumns& columns,
                     TableExport& rowsOut, QWidget* parent)
    : QObject(parent),
      rows_(rows),
      view_(view),
      actions_(actions),
      columns_(columns),
      rowsOut_(rowsOut),
      parent_(parent) {}

QMenu* RunsMenus::newMenu() {
    auto* menu = new QMenu(parent_);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    return menu;
}

QMenu* RunsMenus::openOfColumn(const QString& key, const QPoint& globalPosition) {
    QMenu* menu = newMenu();
    if (!key.isEmpty()) {
        addColumnEntries(*menu, key);
        menu->addSeparator();
    }
    menu->addAction(tr("Choose columns …"), this, [this] { Q_EMIT chooserAsked(); });
    menu->popup(globalPosition);
    return menu;
}

void RunsMenus::addColumnEntries(QMenu& menu, const QString& key) {
    const std::vector<ShownColumn>& shown = view_.columns().shown();
    const bool isPinned = std::ranges::any_of(
        shown, [&](const ShownColumn& column) { return column.key == key && column.isPinned; });
    menu.addAction(tr("Sort ascending"), this,
                   [this, key] { rows_.setSort(key, Qt::AscendingOrder); });
    menu.addAction(tr("Sort descending"), this,
                   [this, key] { rows_.setSort(key, Qt::DescendingOrder); });
    menu.addSeparator();
    menu.addAction(isPinned ? tr("Unpin") : tr("Pin to the left"), this, [this, key, isPinned] {
        RunColumns columns = view_.columns();
        columns.setPinned(key, !isPinned);
        columns_.set(columns);
    });
    menu.addAction(tr("Fit the width"), this, [this, key] { view_.fitColumn(key); });
    menu.addAction(tr("Remove"), this, [this, key] {
        RunColumns columns = view_.columns();
        columns.remove(key);
        columns_.set(columns);
    });
}

QMenu* RunsMenus::openOfRuns(bool isDeleted, const QPoint& globalPosition) {
    const std::vector<std::string> ids = view_.selectedIds();
    if (ids.empty()) {
        return nullptr;
    }
    QMenu* menu = newMenu();
    menu->addAction(tr("Open details"), this, [this] { Q_EMIT detailsAsked(); })
        ->setEnabled(ids.size() == 1);
    menu->addAction(tr("Add to the comparison"), this, [this, ids] {
        for (const std::string& id : ids) {
            rows_.setTicked(id, true);
        }
    });
    menu->addAction(tr("Watch"), this, [this, ids] { actions_.watch(ids); })
        ->setEnabled(!isDeleted);
    menu->addSeparator();
    addCopies(*menu, ids);
    menu->addSeparator();
    addChanges(*menu, ids, isDeleted);
    menu->popup(globalPosition);
    return menu;
}

void RunsMenus::addCopies(QMenu& menu, const std::vector<std::string>& ids) {
    const bool hasOne = ids.size() == 1;
    menu.addAction(tr("Launch again …"), this, [this, ids] { actions_.launchAgain(ids); });
    menu.addAction(tr("Change and launch …"), this,
                   [this, ids] { actions_.changeAndLaunch(ids.front()); })
        ->setEnabled(hasOne);
    menu.addAction(tr("Copy as CLI"), this, [this, ids] { actions_.copyCommand(ids.front()); })
        ->setEnabled(hasOne);
    rowsOut_.addTo(menu);
    menu.addAction(hasOne ? tr("Copy id") : tr("Copy ids"), this,
                   [this, ids] { actions_.copyIds(ids); });
}

void RunsMenus::addChanges(QMenu& menu, const std::vector<std::string>& ids, bool isDeleted) {
    bool isActive = false, hasEnded = false, hasRestorable = false;
    for (const std::string& id : ids) {
        if (const values::RunSummary* run = rows_.table().find(id)) {
            isActive = isActive || !values::isEnded(run->state);
            hasEnded = hasEnded || values::isEnded(run->state);
            hasRestorable = hasRestorable || !run->isPurged();
        }
    }
    if (isDeleted) {
        menu.addAction(tr("Restore"), this, [this, ids] { actions_.restore(ids); })
            ->setEnabled(hasRestorable);
        return;
    }
    menu.addAction(tr("Stop …"), this, [this, ids] { actions_.stop(ids); })->setEnabled(isActive);
    menu.addAction(tr("Delete"), this, [this, ids] { actions_.remove(ids); })->setEnabled(hasEnded);
}

}  // namespace millrace::gui

#pragma once
// The context menus of the table: for the selected runs, and for a column.
//
// Threads: the GUI thread. Owns: nothing; a menu is deleted when it closes.
#include <QObject>
#include <QPoint>
#include <string>
#include <vector>

#include "app/gui/models/runs/run_columns.h"

class QMenu;
class QWidget;

namespace millrace::gui {

class RunActions;
class RunRows;
class RunsView;
class ShownColumns;
class TableExport;

class RunsMenus final : public QObject {
    Q_OBJECT

 public:
    RunsMenus(RunRows& rows, RunsView& view, RunActions& actions, ShownColumns& columns,
              TableExport& rowsOut, QWidget* parent);

    /// `isDeleted`: for deleted runs. Null if none is selected.
    QMenu* openOfRuns(bool isDeleted, const QPoint& globalPosition);
    /// `key` "": beside the columns.
    QMenu* openOfColumn(const QString& key, const QPoint& globalPosition);

 Q_SIGNALS:
    void detailsAsked();
    void chooserAsked();

 private:
    void addColumnEntries(QMenu& menu, const QString& key);
    void addCopies(QMenu& menu, const std::vector<std::string>& ids);
    void addChanges(QMenu& menu, const std::vector<std::string>& ids, bool isDeleted);
    QMenu* newMenu();

    RunRows& rows_;
    RunsView& view_;
    RunActions& actions_;
    ShownColumns& columns_;
    TableExport& rowsOut_;
    QWidget* parent_;
};

}  // namespace millrace::gui

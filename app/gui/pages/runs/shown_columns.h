#pragma once
// ShownColumns: the columns that the table shows: those that the user chose, and until then those
// that the runs have values for.
//
// While no run has been evaluated, the usual columns are chosen again at intervals: the first
// evaluated run adds its metrics. From then on, and once the user has moved or chosen a column,
// they stay. Threads: the GUI thread.
#include <QElapsedTimer>
#include <QObject>
#include <QSettings>

#include "app/gui/models/runs/run_columns.h"

class QWidget;

namespace millrace::gui {

class ColumnChooser;
class RunRows;
class RunTable;
class RunsView;

class ShownColumns final : public QObject {
    Q_OBJECT

 public:
    /// `runs`: the source of metrics; `rows`: the runs that are visible, or deleted ones.
    ShownColumns(RunsView& view, const RunRows& rows, const RunTable& runs, QWidget* parent);

    /// Sets the user's choice.
    void set(const RunColumns& columns);
    void chooseUsual();
    /// Opens below `anchor`.
    ColumnChooser* openChooser(QWidget& anchor);
    void save(QSettings& settings) const;
    void restore(QSettings& settings);

 private:
    void reset();

    RunsView& view_;
    const RunRows& rows_;
    const RunTable& runs_;
    QWidget* parent_;  // of the chooser
    QElapsedTimer sinceUsual_;
    bool isChosen_ = false;
};

}  // namespace millrace::gui

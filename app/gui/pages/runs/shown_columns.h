#pragma once
// Which columns the table shows: those that somebody chose, and until then what the runs have to
// show.
//
// While no run has been evaluated, the usual columns are chosen anew now and then: the first
// evaluated run brings its metrics. From then on, and once anybody has moved or chosen a column,
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
    /// `runs`: whose metrics there are to show; `rows`: what is seen of them, or of deleted ones.
    ShownColumns(RunsView& view, const RunRows& rows, const RunTable& runs, QWidget* parent);

    /// By somebody's choice.
    void set(const RunColumns& columns);
    void chooseUsual();
    /// Below `anchor`.
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

#pragma once
// RunsBody: shows the table of runs, or why there is none and what to do about it.
//
// Threads: the GUI thread. Owns: the sentences; the table is its child.
#include <QStackedWidget>

#include "app/session/link.h"

namespace millrace::gui {

class EmptyState;
class RunsView;

/// Decides whether the table is shown.
struct RunsSituation {
    int numRuns = 0;   ///< in the table, shown or not
    int numShown = 0;  ///< rows that match the filter
    bool isDeletedShown = false;
    bool isComplete = false;  ///< the first list has been delivered
    bool hasAddress = false;  ///< there is a daemon to talk to
};

class RunsBody final : public QStackedWidget {
    Q_OBJECT

 public:
    explicit RunsBody(QWidget* parent);

    /// Adds the table as the first of the stack.
    void setTable(QWidget& table);
    /// Returns true if the table has just become visible.
    bool showFor(const RunsSituation& now, const session::Link& link);

 Q_SIGNALS:
    void launchAsked();
    void clearAsked();

 private:
    EmptyState* add(const QString& title, const QString& sentence);
    QWidget* wanted(const RunsSituation& now, const session::Link& link);

    QWidget* table_ = nullptr;
    EmptyState *noDaemon_, *noRuns_, *noMatch_, *reading_;
};

}  // namespace millrace::gui

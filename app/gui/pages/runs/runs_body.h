#pragma once
// The table of runs, or why there is none and what to do about it.
//
// Threads: the GUI thread. Owns: the sentences; the table is its child.
#include <QStackedWidget>

#include "app/session/link.h"

namespace millrace::gui {

class EmptyState;
class RunsView;

/// What decides whether the table stands there.
struct RunsSituation {
    int numRuns = 0;   ///< of the table, shown or not
    int numShown = 0;  ///< rows that the filter lets through
    bool isDeletedShown = false;
    bool isComplete = false;  ///< the first list has been delivered
    bool hasAddress = false;  ///< there is a daemon to talk to
};

class RunsBody final : public QStackedWidget {
    Q_OBJECT

 public:
    explicit RunsBody(QWidget* parent);

    /// Becomes the first of the stack.
    void setTable(QWidget& table);
    /// True where the table has come to stand there just now.
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

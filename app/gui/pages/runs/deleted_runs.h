#pragma once
// DeletedRuns: the deleted runs in a table of their own, read on request.
//
// Threads: the GUI thread. Owns: the table. Failure: the daemon's sentence; earlier results stay.
#include <QObject>
#include <QString>

#include "app/gui/models/runs/run_table.h"
#include "app/gui/pages/runs/run_pages.h"

namespace millrace::gui {

class DeletedRuns final : public QObject {
    Q_OBJECT

 public:
    DeletedRuns(DaemonBridge& daemon, QObject* parent);

    RunTable& table() { return table_; }
    void read();
    /// Call when the daemon was left.
    void clear();
    bool isSettled() const { return !pages_.isReading(); }

 Q_SIGNALS:
    void changed();
    void failed(const QString& sentence);

 private:
    RunTable table_;
    RunPages pages_;
};

}  // namespace millrace::gui

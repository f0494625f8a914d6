#pragma once
// RunPages: requests all pages of one list of runs, one after the other.
//
// A new start drops the previous list, which reports nothing any more. Threads: the GUI thread.
// Failure: the daemon's status ends the list; the pages before it have been reported.
#include <QObject>
#include <functional>

#include "backend/core/status.h"
#include "backend/values/run_list.h"

namespace millrace::gui {

class DaemonBridge;

class RunPages final : public QObject {
    Q_OBJECT

 public:
    using OnPage = std::function<void(const values::RunPage& page, bool isFirst)>;
    using OnEnd = std::function<void(const Status& status)>;

    RunPages(DaemonBridge& daemon, QObject* parent) : QObject(parent), daemon_(daemon) {}

    void start(values::ListRequest request, OnPage onPage, OnEnd onEnd);
    /// Call also when the daemon is left: the bridge does not answer for it.
    void drop();
    bool isReading() const { return isReading_; }

 private:
    void ask();
    void take(const values::RunPage& page);
    void end(const Status& status);

    DaemonBridge& daemon_;
    values::ListRequest request_;
    OnPage onPage_;
    OnEnd onEnd_;
    int serial_ = 0;
    bool isReading_ = false;
};

}  // namespace millrace::gui

#include "app/gui/pages/runs/deleted_runs.h"

#include <utility>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_text.h"

namespace millrace::gui {

DeletedRuns::DeletedRuns(DaemonBridge& daemon, QObject* parent)
    : QObject(parent), pages_(daemon, nullptr) {}

void DeletedRuns::read() {
    values::ListRequest request;
    request.view = values::RunView::kDeleted;
    request.withParams = true;  // columns show them, as for other runs
    pages_.start(
        std::move(request),
        [this](const values::RunPage& page, bool isFirst) {
            table_.apply(isFirst, page.runs, {});
            Q_EMIT changed();
        },
        [this](const Status& status) {
            if (!status.ok()) {
                Q_EMIT failed(asSentence(std::string(messageOf(status))));
            }
        });
}

void DeletedRuns::clear() {
    pages_.drop();
    table_.clear();
}

}  // namespace millrace::gui

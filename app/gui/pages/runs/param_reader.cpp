#include "app/gui/pages/runs/param_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/runs/run_rows.h"
#include "app/gui/models/runs/run_table.h"

namespace millrace::gui {
namespace {

constexpr int kSoonMs = 400;

bool isParamKey(const QString& key) {
    return key.startsWith(QLatin1String("param:"));
}

bool hasAllParams(const RunTable& runs) {
    for (int row = 0; row < runs.numRuns(); ++row) {
        if (!runs.hasParams(row)) {
            return false;
        }
    }
    return true;
}

}  // namespace

ParamReader::ParamReader(DaemonBridge& daemon, RunTable& runs, const RunRows& rows, QObject* parent)
    : QObject(parent), runs_(runs), rows_(rows), pages_(daemon, nullptr) {
    timer_.setSingleShot(true);
    timer_.setInterval(kSoonMs);
    connect(&timer_, &QTimer::timeout, this, [this] { readIfNeeded(); });
}

bool ParamReader::isNeeded() const {
    const std::vector<QString>& keys = rows_.columnKeys();
    return isParamKey(rows_.sortKey()) || std::any_of(keys.begin(), keys.end(), isParamKey);
}

void ParamReader::readIfNeeded() {
    if (isNeeded()) {
        read();
    }
}

void ParamReader::read() {
    if (pages_.isReading() || hasAllParams(runs_)) {
        return;
    }
    values::ListRequest request;
    request.withParams = true;
    request.changesSince = revision_;
    const auto revision = std::make_shared<std::uint64_t>(0);
    pages_.start(
        std::move(request),
        [this, revision](const values::RunPage& page, bool) {
            runs_.setParams(page.runs);
            *revision = page.revision;
        },
        [this, revision](const Status& status) {
            if (status.ok()) {
                revision_ = *revision;
                Q_EMIT wereRead();
            }
        });
}

void ParamReader::runsChanged() {
    if (!timer_.isActive()) {
        timer_.start();
    }
}

void ParamReader::drop() {
    pages_.drop();
    revision_ = 0;
}

}  // namespace millrace::gui

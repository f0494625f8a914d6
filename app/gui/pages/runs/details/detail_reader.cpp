#include "app/gui/pages/runs/details/detail_reader.h"

#include <algorithm>
#include <utility>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_text.h"

namespace millrace::gui {
namespace {

constexpr int kAgainMs = 2'000;  ///< between two reads of an active run

}  // namespace

DetailReader::DetailReader(DaemonBridge& daemon, QObject* parent)
    : QObject(parent), daemon_(daemon) {
    timer_.setSingleShot(true);
    connect(&timer_, &QTimer::timeout, this, [this] { read(knownRevision_); });
}

void DetailReader::setRun(const std::string& id) {
    id_ = id;
    detail_.reset();
    knownRevision_ = readRevision_ = 0;
    isReading_ = false;
    timer_.stop();
}

void DetailReader::runChanged(std::uint64_t revision) {
    knownRevision_ = revision;
    if (revision != readRevision_ && !isReading_ && !timer_.isActive()) {
        const qint64 wait = sinceRead_.isValid() ? kAgainMs - sinceRead_.elapsed() : 0;
        timer_.start(static_cast<int>(std::max<qint64>(0, wait)));
    }
}

void DetailReader::read(std::uint64_t revision) {
    isReading_ = true;
    knownRevision_ = readRevision_ = revision;
    sinceRead_.start();
    daemon_.get(
        id_, this,
        [this, id = id_](Result<values::RunDetail> reply) {
            if (id == id_) {
                take(std::move(reply));
            }
        },
        "details");
}

void DetailReader::take(Result<values::RunDetail> reply) {
    isReading_ = false;
    if (!reply.ok()) {
        Q_EMIT failed(asSentence(std::string(messageOf(reply.status()))));
        return;
    }
    detail_ = std::make_unique<values::RunDetail>(*std::move(reply));
    Q_EMIT wasRead();
}

}  // namespace millrace::gui

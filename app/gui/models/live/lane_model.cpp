#include "app/gui/models/live/lane_model.h"

#include <algorithm>
#include <tuple>

#include "app/gui/models/run_text.h"

namespace millrace::gui {
namespace {

using values::RunState;

int rankOf(RunState state) {
    return values::isEnded(state) ? 2 : state == RunState::kQueued ? 1 : 0;
}

QString doing(values::Phase phase) {
    const QString name = qtext(nameOf(phase));
    return phase == values::Phase::kEnding ? name + QStringLiteral(": its script has not left yet")
           : name.isEmpty()                ? QStringLiteral("no report yet")
                                           : name;
}

}  // namespace

QString LaneState::title() const {
    return qtext(run.variation.empty() ? run.name : run.variation);
}

QString LaneState::label() const {
    return run.variation.empty() ? qtext(run.name) : qtext(run.name) + " / " + qtext(run.variation);
}

QString LaneState::sentence(std::int64_t nowMs) const {
    // Trouble comes before all else, then the reason to wait, then the state.
    if (!isEnded() && !run.trouble.empty()) {
        const auto standsMs =
            static_cast<double>(std::max<std::int64_t>(0, nowMs - run.standsSinceMs));
        return run.isStalled() ? qtext(run.trouble) + ", for " + durationText(standsMs)
                               : qtext(run.trouble);
    }
    const bool isWaiting = !isEnded() && run.state != RunState::kStopping;
    if (isWaiting && !run.queuedReason.empty()) {
        return qtext(run.queuedReason);
    }
    switch (run.state) {
        case RunState::kQueued:
            return QStringLiteral("waits for its turn");
        case RunState::kStarting:
            return QStringLiteral("starting its workers");
        case RunState::kStopping:
            if (run.handOver.has_value()) {
                return QStringLiteral("stopping: ") + qtext(session::handOverText(run.handOver));
            }
            return run.progress.phase == values::Phase::kCheckpoint
                       ? QStringLiteral("stopping: writing a checkpoint")
                       : QStringLiteral("stopping: a checkpoint is written first");
        case RunState::kFailed:
        case RunState::kCancelled:
            return qtext(run.exitReason);
        case RunState::kFinished:
            return {};
        default:
            return doing(run.progress.phase);
    }
}

QString stepText(const values::Progress& progress) {
    if (progress.step <= 0 && progress.stepsTotal <= 0) {
        return {};
    }
    const QString step = countText(static_cast<double>(progress.step));
    return progress.stepsTotal > 0
               ? QStringLiteral("step %1 of %2")
                     .arg(step, countText(static_cast<double>(progress.stepsTotal)))
               : QStringLiteral("step %1").arg(step);
}

QString epochText(const values::Progress& progress) {
    if (progress.epochs <= 0 || (progress.step <= 0 && progress.stepsTotal <= 0)) {
        return {};
    }
    return QStringLiteral("epoch %1 of %2")
        .arg(std::min(progress.epoch + 1, progress.epochs))
        .arg(progress.epochs);
}

LaneModel::LaneModel(QObject* parent) : QAbstractListModel(parent) {}

std::int64_t LaneModel::endOf(const values::RunSummary& run) const {
    const auto lane = known_.find(run.id);
    return std::max(run.endedMs, lane != known_.end() ? lane->second->sawEndMs : 0);
}

bool LaneModel::isWanted(const values::RunSummary& run) const {
    const auto lane = known_.find(run.id);
    const bool wasSeen = lane != known_.end() && lane->second->sawEndMs > 0;
    return !values::isEnded(run.state) || pinned_.contains(run.id) || wasSeen || isRecent(run);
}

LaneState& LaneModel::take(const values::RunSummary& run) {
    std::shared_ptr<LaneState>& lane = known_[run.id];
    if (!lane) {
        lane = std::make_shared<LaneState>();
    }
    // A run is seen to end only if it was known before: one that is already over in the first list
    // ended at another time. A resumed run starts over.
    if (!values::isEnded(run.state)) {
        lane->sawEndMs = 0;
    } else if (!lane->run.id.empty() && !lane->isEnded()) {
        lane->sawEndMs = nowMs_;
    }
    lane->progress.note(run, nowMs_);
    lane->run = run;
    lane->tracker.update(run, nowMs_);
    followRanks(lane->ranks, run, nowMs_);
    return *lane;
}

void LaneModel::apply(bool isReset, const std::vector<values::RunSummary>& changed,
                      const std::vector<std::string>& removed, std::int64_t nowMs) {
    // Never backwards, even if this machine's clock is set back: ages and order stay.
    nowMs_ = std::max(nowMs_, nowMs);
    std::set<std::string> touched;
    if (isReset) {
        // After a reconnection the daemon lists its runs again, in several deliveries. A run that
        // is gone is only known once the list is complete.
        unconfirmed_.clear();
        for (const auto& [id, lane] : known_) {
            unconfirmed_.insert(id);
        }
    }
    for (const values::RunSummary& run : changed) {
        unconfirmed_.erase(run.id);
        if (isWanted(run) || known_.contains(run.id)) {
            take(run);
            touched.insert(run.id);
        }
    }
    for (const std::string& id : removed) {
        known_.erase(id);
        pinned_.erase(id);
    }
    arrange(touched);
}

void LaneModel::listComplete() {
    if (unconfirmed_.empty()) {
        return;
    }
    for (const std::string& id : unconfirmed_) {
        known_.erase(id);
        pinned_.erase(id);
    }
    unconfirmed_.clear();
    arrange({});
}

void LaneModel::pin(const std::vector<values::RunSummary>& runs, std::int64_t nowMs) {
    nowMs_ = std::max(nowMs_, nowMs);
    std::set<std::string> touched;
    pinned_.clear();
    for (const values::RunSummary& run : runs) {
        pinned_.insert(run.id);
        if (!known_.contains(run.id)) {
            take(run);
        }
        touched.insert(run.id);
    }
    arrange(touched);
}

void LaneModel::refresh(std::int64_t nowMs) {
    nowMs_ = std::max(nowMs_, nowMs);
    if (wantedOrder().size() != lanes_.size()) {
        arrange({});
    }
}

void LaneModel::setHistory(const std::string& id, std::span<const LaneTracker::Point> points) {
    const auto found = known_.find(id);
    if (found == known_.end()) {
        return;
    }
    found->second->tracker.setHistory(points);
    if (const int row = rowOf(id); row >= 0) {
        Q_EMIT dataChanged(index(row), index(row));
    }
}

void LaneModel::setRankHistory(const std::string& id, int rank,
                               std::span<const LaneTracker::Point> points) {
    const auto found = known_.find(id);
    if (found == known_.end()) {
        return;
    }
    LaneState& lane = *found->second;
    gui::setRankHistory(lane.ranks, rank, lane.run, points, nowMs_);
    if (const int row = rowOf(id); row >= 0) {
        Q_EMIT dataChanged(index(row), index(row));
    }
}

void LaneModel::clear() {
    beginResetModel();
    lanes_.clear();
    known_.clear();
    pinned_.clear();
    unconfirmed_.clear();
    endResetModel();
}

std::vector<std::string> LaneModel::wantedOrder() const {
    std::vector<const LaneState*> wanted;
    for (const auto& [id, lane] : known_) {
        if (isWanted(lane->run)) {
            wanted.push_back(lane.get());
        }
    }
    std::ranges::sort(wanted, [this](const LaneState* a, const LaneState* b) {
        const int aRank = rankOf(a->run.state), bRank = rankOf(b->run.state);
        if (aRank != bRank) {
            return aRank < bRank;
        }
        const std::int64_t aEnd = a->isEnded() ? endOf(a->run) : 0;
        const std::int64_t bEnd = b->isEnded() ? endOf(b->run) : 0;
        return aEnd != bEnd ? aEnd > bEnd : values::isSubmittedBefore(a->run, b->run);
    });
    std::vector<std::string> ids;
    ids.reserve(wanted.size());
    int numEnded = 0;
    for (const LaneState* lane : wanted) {
        // Counts in the order of the rows: the newest ends come first.
        const bool isOneOfMany = lane->isEnded() && ++numEnded > kNumEndedKept &&
                                 !pinned_.contains(lane->run.id) && !isRecent(lane->run);
        if (!isOneOfMany) {
            ids.push_back(lane->run.id);
        }
    }
    return ids;
}

void LaneModel::removeUnwanted(const std::set<std::string>& wanted) {
    for (int row = numLanes() - 1; row >= 0; --row) {
        if (!wanted.contains(lane(row).run.id)) {
            beginRemoveRows({}, row, row);
            lanes_.erase(lanes_.begin() + row);
            endRemoveRows();
        }
    }
}

void LaneModel::arrange(const std::set<std::string>& touched) {
    const std::vector<std::string> order = wantedOrder();
    const std::set<std::string> wanted(order.begin(), order.end());
    removeUnwanted(wanted);
    for (int row = 0; row < static_cast<int>(order.size()); ++row) {
        const std::string& id = order[static_cast<std::size_t>(row)];
        // Rows above `row` are in their final places, so `from` is never above it, and a move
        // always goes up.
        const int from = rowOf(id);
        if (from < 0) {
            beginInsertRows({}, row, row);
            lanes_.insert(lanes_.begin() + row, known_.at(id));
            endInsertRows();
        } else if (from != row) {
            beginMoveRows({}, from, from, {}, row);
            std::rotate(lanes_.begin() + row, lanes_.begin() + from, lanes_.begin() + from + 1);
            endMoveRows();
        }
        if (touched.contains(id)) {
            lanes_[static_cast<std::size_t>(row)] = known_.at(id);
            Q_EMIT dataChanged(index(row), index(row));
        }
    }
    // Runs that no row shows are forgotten, with their history.
    std::erase_if(known_, [&](const auto& entry) { return !wanted.contains(entry.first); });
}

const LaneState* LaneModel::find(const std::string& id) const {
    const auto found = known_.find(id);
    return found == known_.end() ? nullptr : found->second.get();
}

int LaneModel::rowOf(const std::string& id) const {
    const auto found =
        std::ranges::find_if(lanes_, [&](const auto& lane) { return lane->run.id == id; });
    return found == lanes_.end() ? -1 : static_cast<int>(found - lanes_.begin());
}

int LaneModel::numGoing() const {
    return static_cast<int>(
        std::ranges::count_if(lanes_, [](const auto& lane) { return lane->isGoing(); }));
}

int LaneModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : numLanes();
}

QVariant LaneModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    const LaneState& state = lane(index.row());
    switch (role) {
        case Qt::DisplayRole:
            return state.label();
        case kIdRole:
            return QString::fromStdString(state.run.id);
        case kStateRole:
            return static_cast<int>(state.run.state);
        case kShareRole: {
            const std::optional<double> share = state.progressShare();
            return share ? QVariant(*share) : QVariant();
        }
        case kSentenceRole:
            return state.sentence(nowMs_);
        default:
            return {};
    }
}

}  // namespace millrace::gui

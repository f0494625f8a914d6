#include "app/gui/models/live/node_model.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>

#include "app/session/live_model.h"

namespace millrace::gui {
namespace {

constexpr std::size_t kCurvePointsMax = 100'000;  // more than a day at one a second

std::shared_ptr<CurveStore> newCurve() {
    return std::make_shared<CurveStore>(CurveStore::Options{.numPointsMax = kCurvePointsMax});
}

double known(const std::optional<double>& value) {
    return value.value_or(kNoValue);
}

void addPoint(CurveStore& curve, std::int64_t timeMs, double value) {
    const auto time = static_cast<double>(timeMs);
    const CurvePoint point{.x = time, .y = value, .timeMs = time};
    curve.append(std::span(&point, 1));
}

QVariant percentOf(const std::optional<double>& value) {
    return value ? QVariant(*value) : QVariant();
}

}  // namespace

void MinuteHistory::add(std::int64_t timeMs, double value) {
    // at() needs rising times.
    if (!samples_.empty() && timeMs <= samples_.back().first) {
        return;
    }
    samples_.emplace_back(timeMs, value);
    // One second more than is shown, and the time for which a sample holds: the oldest entry shown
    // may still use the sample before it.
    while (samples_.front().first < timeMs - (kSeconds + 1) * 1'000 - kHoldMs) {
        samples_.pop_front();
    }
}

std::array<double, MinuteHistory::kSeconds> MinuteHistory::at(std::int64_t nowMs) const {
    std::array<double, kSeconds> result;
    result.fill(kNoValue);
    auto next = samples_.begin();
    for (int i = 0; i < kSeconds; ++i) {
        const std::int64_t time = nowMs - std::int64_t{1'000} * (kSeconds - 1 - i);
        while (next != samples_.end() && next->first <= time) {
            ++next;
        }
        if (next != samples_.begin() && std::prev(next)->first > time - kHoldMs) {
            result[static_cast<std::size_t>(i)] = std::prev(next)->second;
        }
    }
    return result;
}

QString NodeState::stateText() const {
    return QString::fromStdString(session::stateText(info));
}

std::optional<int> NodeState::staleSeconds(std::int64_t nowMs) const {
    if (receivedMs == 0 || nowMs - receivedMs <= NodeModel::kStaleMs) {
        return std::nullopt;
    }
    return static_cast<int>((nowMs - receivedMs) / 1'000);
}

std::optional<double> NodeState::memoryPercent() const {
    if (!sample || !sample->memoryUsedBytes) {
        return std::nullopt;
    }
    const auto total = static_cast<double>(sample->memoryTotalBytes.value_or(info.memoryBytes));
    return total > 0 ? std::optional(100 * static_cast<double>(*sample->memoryUsedBytes) / total)
                     : std::nullopt;
}

std::optional<double> NodeState::gpuPercent() const {
    double sum = 0;
    int count = 0;
    for (const Gpu& gpu : gpus) {
        if (gpu.sample.utilizationPercent) {
            sum += *gpu.sample.utilizationPercent;
            ++count;
        }
    }
    return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::vector<values::ProcessSample> NodeState::workers() const {
    std::vector<values::ProcessSample> all;
    if (sample) {
        all = sample->processes;
    }
    std::ranges::sort(all, [](const auto& a, const auto& b) {
        // Shorter names first: among names with one prefix this is the order of their numbers.
        const std::size_t lengthA = a.worker.size(), lengthB = b.worker.size();
        return std::tie(a.runId, lengthA, a.worker) < std::tie(b.runId, lengthB, b.worker);
    });
    return all;
}

QString NodeState::gpuSentence() const {
    if (!gpus.empty()) {
        return {};
    }
    const QString note = QString::fromStdString(info.gpuNote).trimmed();
    if (note.isEmpty()) {
        return QStringLiteral("no GPU");
    }
    return note.startsWith(QStringLiteral("no GPU"), Qt::CaseInsensitive)
               ? note
               : QStringLiteral("no GPU: ") + note;
}

NodeModel::NodeModel(QObject* parent) : QAbstractListModel(parent) {}

int NodeModel::rowOf(const std::string& name) const {
    const auto found =
        std::ranges::find_if(nodes_, [&](const auto& node) { return node->info.name == name; });
    return found == nodes_.end() ? -1 : static_cast<int>(found - nodes_.begin());
}

const NodeState* NodeModel::find(const std::string& name) const {
    const int row = rowOf(name);
    return row < 0 ? nullptr : nodes_[static_cast<std::size_t>(row)].get();
}

int NodeModel::ensure(const std::string& name) {
    const int found = rowOf(name);
    if (found >= 0) {
        return found;
    }
    const auto place =
        std::ranges::find_if(nodes_, [&](const auto& node) { return node->info.name > name; });
    const int row = static_cast<int>(place - nodes_.begin());
    beginInsertRows({}, row, row);
    auto node = std::make_unique<NodeState>();
    node->info.name = name;
    node->cpuCurve = newCurve();
    nodes_.insert(place, std::move(node));
    endInsertRows();
    return row;
}

void NodeModel::setNodes(const std::vector<values::NodeInfo>& nodes) {
    for (int row = numNodes() - 1; row >= 0; --row) {
        const NodeState& old = node(row);
        const bool isNamed = std::ranges::any_of(
            nodes, [&](const auto& info) { return info.name == old.info.name; });
        // A node that sends samples stays, even if the list lacks it, which may be older.
        if (!isNamed && old.receivedMs == 0) {
            beginRemoveRows({}, row, row);
            nodes_.erase(nodes_.begin() + row);
            endRemoveRows();
        }
    }
    for (const values::NodeInfo& info : nodes) {
        const int row = ensure(info.name);
        NodeState& state = *nodes_[static_cast<std::size_t>(row)];
        state.info = info;
        state.gpus.resize(std::max(state.gpus.size(), info.gpus.size()));
        for (std::size_t i = 0; i < info.gpus.size(); ++i) {
            state.gpus[i].info = info.gpus[i];
        }
        Q_EMIT dataChanged(index(row), index(row));
    }
}

void NodeModel::takeGpus(NodeState& node, const values::NodeSample& sample) {
    for (const values::GpuSample& gpu : sample.gpus) {
        auto place = std::ranges::find_if(
            node.gpus, [&](const auto& known) { return known.info.index == gpu.index; });
        if (place == node.gpus.end()) {
            node.gpus.emplace_back().info.index = gpu.index;
            place = node.gpus.end() - 1;
        }
        place->sample = gpu;
        place->utilization.add(node.receivedMs, known(gpu.utilizationPercent));
        if (!place->curve) {
            place->curve = newCurve();
        }
        addPoint(*place->curve, sample.timeMs, known(gpu.utilizationPercent));
    }
}

void NodeModel::addSample(const values::NodeSample& sample, std::int64_t nowMs) {
    nowMs_ = std::max(nowMs_, nowMs);
    const int row = ensure(sample.node);
    NodeState& node = *nodes_[static_cast<std::size_t>(row)];
    // Much older than the newest: the machine's clock was set back.
    if (node.sample && sample.timeMs <= node.sample->timeMs &&
        sample.timeMs > node.sample->timeMs - kStaleMs) {
        node.receivedMs = nowMs;  // received, but nothing new
        return;
    }
    // Histories and staleness use this machine's clock, curves the node's: curves join what the run
    // store has, and a minute must end now, whatever the node's clock shows.
    node.sample = sample;
    node.receivedMs = nowMs;
    node.cpu.add(nowMs, known(sample.cpuPercent));
    node.memory.add(nowMs, known(node.memoryPercent()));
    node.receive.add(nowMs, known(sample.networkReceiveBytesPerSecond));
    node.send.add(nowMs, known(sample.networkSendBytesPerSecond));
    node.read.add(nowMs, known(sample.diskReadBytesPerSecond));
    node.write.add(nowMs, known(sample.diskWriteBytesPerSecond));
    addPoint(*node.cpuCurve, sample.timeMs, known(sample.cpuPercent));
    takeGpus(node, sample);
    shownStale_[sample.node] = std::nullopt;
    Q_EMIT dataChanged(index(row), index(row));
}

void NodeModel::prependHistory(const std::string& name, int gpu,
                               std::span<const values::MetricPoint> points) {
    const int row = rowOf(name);
    if (row < 0) {
        return;
    }
    NodeState& node = *nodes_[static_cast<std::size_t>(row)];
    CurveStore* curve = gpu < 0 ? node.cpuCurve.get() : nullptr;
    for (NodeState::Gpu& candidate : node.gpus) {
        if (candidate.info.index == gpu) {
            candidate.curve = candidate.curve ? candidate.curve : newCurve();
            curve = candidate.curve.get();
        }
    }
    if (curve == nullptr) {
        return;
    }
    const double first =
        curve->isEmpty() ? std::numeric_limits<double>::infinity() : curve->at(0).x;
    std::vector<double> x, y;
    for (const values::MetricPoint& point : points) {
        const auto time = static_cast<double>(point.timeMs);
        if (time < first && (x.empty() || time > x.back())) {
            x.push_back(time);
            y.push_back(point.value);
        }
    }
    if (x.empty()) {
        return;
    }
    for (std::size_t i = 0; i < curve->size(); ++i) {
        x.push_back(curve->at(i).x);
        y.push_back(curve->at(i).y);
    }
    // A CurveStore only grows at its end.
    curve->replaceAll({x, y, {}, x});
    Q_EMIT dataChanged(index(row), index(row));
}

void NodeModel::refresh(std::int64_t nowMs) {
    nowMs_ = std::max(nowMs_, nowMs);
    for (int row = 0; row < numNodes(); ++row) {
        const std::optional<int> stale = node(row).staleSeconds(nowMs_);
        std::optional<int>& shown = shownStale_[node(row).info.name];
        // Once a second for stale nodes only: cards of live nodes change with their samples.
        if (stale != shown) {
            shown = stale;
            Q_EMIT dataChanged(index(row), index(row));
        }
    }
}

void NodeModel::clear() {
    beginResetModel();
    nodes_.clear();
    shownStale_.clear();
    endResetModel();
}

int NodeModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : numNodes();
}

QVariant NodeModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    const NodeState& state = node(index.row());
    switch (role) {
        case Qt::DisplayRole:
            return state.name();
        case kStaleRole: {
            const std::optional<int> stale = state.staleSeconds(nowMs_);
            return stale ? QVariant(*stale) : QVariant();
        }
        case kCpuRole:
            return percentOf(state.sample ? state.sample->cpuPercent : std::nullopt);
        case kMemoryRole:
            return percentOf(state.memoryPercent());
        case kGpuRole:
            return percentOf(state.gpuPercent());
        default:
            return {};
    }
}

}  // namespace millrace::gui

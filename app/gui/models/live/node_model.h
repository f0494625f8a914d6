#pragma once
// NodeModel: the machines of a cluster as rows: their fixed facts, the newest sample, a minute of
// history.
//
// A node is added by its facts (setNodes) or by its first sample, whichever comes first. A value
// that was not reported is empty, in the history NaN; never zero. A node is stale when samples came
// and then stopped for kStaleMs; refresh() advances the clock and changes only rows whose age
// changed.
//
// Threads: the GUI thread. Owns: its rows and their histories. Failure: none.
#include <QAbstractListModel>
#include <QString>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "app/gui/models/curve_store.h"
#include "backend/values/metric_line.h"
#include "backend/values/node.h"

namespace millrace::gui {

/// The last minute of one value, one entry per second. A sample holds for kHoldMs, so that uneven
/// intervals leave no hole; a longer silence is NaN.
class MinuteHistory {
 public:
    static constexpr int kSeconds = 60;
    static constexpr std::int64_t kHoldMs = 2'500;
    void add(std::int64_t timeMs, double value);
    /// Oldest first; the last entry is the value held at `nowMs`.
    std::array<double, kSeconds> at(std::int64_t nowMs) const;

 private:
    std::deque<std::pair<std::int64_t, double>> samples_;
};

/// The data of one node's card.
struct NodeState {
    struct Gpu {
        values::GpuInfo info;
        values::GpuSample sample;
        MinuteHistory utilization;
        std::shared_ptr<CurveStore> curve;  ///< utilisation in percent over time
    };
    values::NodeInfo info;
    std::optional<values::NodeSample> sample;  ///< the newest
    std::int64_t receivedMs = 0;               ///< by this machine's clock; 0: no sample yet
    MinuteHistory cpu, memory, receive, send, read, write;
    std::vector<Gpu> gpus;                 ///< by index
    std::shared_ptr<CurveStore> cpuCurve;  ///< percent over time

    QString name() const { return QString::fromStdString(info.name); }
    /// "drained", "lost"; empty: attached, or unknown.
    QString stateText() const;
    /// Seconds since the last sample if it is stale, else nothing.
    std::optional<int> staleSeconds(std::int64_t nowMs) const;
    std::optional<double> memoryPercent() const;
    /// The mean of the GPUs that report their utilisation.
    std::optional<double> gpuPercent() const;
    /// The workers on the node, sorted by run and then by name: "data2" before "data10".
    std::vector<values::ProcessSample> workers() const;
    /// Why no GPU is visible, in a sentence; empty if one is.
    QString gpuSentence() const;
};

class NodeModel : public QAbstractListModel {
    Q_OBJECT

 public:
    static constexpr std::int64_t kStaleMs = 3'500;
    enum Role { kStaleRole = Qt::UserRole, kCpuRole, kMemoryRole, kGpuRole };

    explicit NodeModel(QObject* parent = nullptr);

    /// Sets the facts of all nodes; removes nodes that are not listed and never sent a sample.
    void setNodes(const std::vector<values::NodeInfo>& nodes);
    void addSample(const values::NodeSample& sample, std::int64_t nowMs);
    /// Adds measurements from before the first sample (times rising) to the curves; gpu -1: CPU.
    void prependHistory(const std::string& node, int gpu,
                        std::span<const values::MetricPoint> points);
    /// Advances the clock: ages of stale nodes.
    void refresh(std::int64_t nowMs);
    void clear();

    int numNodes() const { return static_cast<int>(nodes_.size()); }
    const NodeState& node(int row) const { return *nodes_[static_cast<std::size_t>(row)]; }
    /// Null if there is none.
    const NodeState* find(const std::string& name) const;
    std::int64_t nowMs() const { return nowMs_; }

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

 private:
    int rowOf(const std::string& name) const;
    int ensure(const std::string& name);
    static void takeGpus(NodeState& node, const values::NodeSample& sample);

    std::vector<std::unique_ptr<NodeState>> nodes_;  ///< sorted by name
    std::map<std::string, std::optional<int>> shownStale_;
    std::int64_t nowMs_ = 0;
};

}  // namespace millrace::gui

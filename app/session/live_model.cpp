#include "app/session/live_model.h"

#include <algorithm>
#include <limits>
#include <set>
#include <type_traits>

namespace millrace::session {
namespace {

constexpr std::size_t kSeriesMax = 8'192;
constexpr std::size_t kLogsMax = 400;
constexpr std::size_t kHistoryMax = 120;
constexpr std::int64_t kStaleMs = 3'500;

void keep(std::deque<double>& history, double value) {
    history.push_back(value);
    if (history.size() > kHistoryMax) {
        history.pop_front();
    }
}

// Runs that are active, then queued ones, then those that ended.
int rankOf(values::RunState state) {
    return values::isEnded(state) ? 2 : state == values::RunState::kQueued ? 1 : 0;
}

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

void takeSample(LiveNode& node, const values::NodeSample& sample, std::int64_t nowMs) {
    node.sample = sample;
    node.receivedMs = nowMs;
    keep(node.cpuHistory, sample.cpuPercent.value_or(kUnknown));
    if (!sample.gpus.empty()) {
        keep(node.gpuHistory, gpuPercent(sample).value_or(kUnknown));
    }
}

// Drops a node that an earlier list had and this one lacks. Keeps a node that has only sent a
// sample: the next list includes it.
void takeNodes(std::map<std::string, LiveNode>& nodes,
               const std::vector<values::NodeInfo>& listed) {
    std::set<std::string> names;
    for (const values::NodeInfo& info : listed) {
        names.insert(info.name);
        nodes[info.name].info = info;
    }
    std::erase_if(nodes, [&](const auto& node) {
        return !node.second.info.name.empty() && !names.contains(node.first);
    });
}

}  // namespace

void Series::add(std::int64_t step, double value) {
    points_.emplace_back(static_cast<double>(step), value);
    if (points_.size() >= kSeriesMax) {
        thin();
    }
}

void Series::dropAfter(std::int64_t step) {
    while (!points_.empty() && points_.back().first > static_cast<double>(step)) {
        points_.pop_back();
    }
}

void Series::thin() {
    std::vector<std::pair<double, double>> kept;
    const auto byValue = [](const auto& a, const auto& b) { return a.second < b.second; };
    for (std::size_t at = 0; at < points_.size(); at += 4) {
        const auto first = points_.begin() + static_cast<std::ptrdiff_t>(at);
        const auto last =
            first + static_cast<std::ptrdiff_t>(std::min<std::size_t>(4, points_.size() - at));
        auto [low, high] = std::minmax_element(first, last, byValue);
        if (high < low) {
            std::swap(low, high);
        }
        kept.push_back(*low);
        if (high != low) {
            kept.push_back(*high);
        }
    }
    points_ = std::move(kept);
}

std::vector<double> Series::tail(std::size_t count) const {
    std::vector<double> values;
    for (std::size_t i = points_.size() - std::min(count, points_.size()); i < points_.size();
         ++i) {
        values.push_back(points_[i].second);
    }
    return values;
}

std::optional<double> Series::last() const {
    return points_.empty() ? std::nullopt : std::optional(points_.back().second);
}

std::optional<double> LiveRun::metric(const std::string& name) const {
    const auto found = series.find(name);
    if (found != series.end() && found->second.last()) {
        return found->second.last();
    }
    return summary.metric(name);
}

void LiveModel::apply(const FollowEvent& event, std::int64_t nowMs) {
    const auto visitor = [&](const auto& e) {
        using T = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<T, LinkChanged>) {
            link = e.link;
        } else if constexpr (std::is_same_v<T, RunChanged>) {
            LiveRun& run = runs[e.run.id];
            run.progress.note(e.run, nowMs);
            run.summary = e.run;
        } else if constexpr (std::is_same_v<T, RunRemoved>) {
            runs.erase(e.run.id);
        } else if constexpr (std::is_same_v<T, MetricsAdded>) {
            LiveRun& run = runs[e.runId];
            for (const values::MetricLine& line : e.lines) {
                for (const values::MetricValue& value : line.values) {
                    run.series[e.names->at(value.key)].add(line.step, value.value);
                }
            }
        } else if constexpr (std::is_same_v<T, MetricsReplaced>) {
            for (auto& [name, series] : runs[e.runId].series) {
                series.dropAfter(e.afterStep);
            }
        } else if constexpr (std::is_same_v<T, LogsAdded>) {
            std::deque<values::LogLine>& logs = runs[e.runId].logs;
            logs.insert(logs.end(), e.lines.begin(), e.lines.end());
            logs.erase(logs.begin(),
                       logs.end() - static_cast<std::ptrdiff_t>(std::min(logs.size(), kLogsMax)));
        } else if constexpr (std::is_same_v<T, NodeSampled>) {
            takeSample(nodes[e.sample.node], e.sample, nowMs);
        } else if constexpr (std::is_same_v<T, NodesListed>) {
            takeNodes(nodes, e.nodes);
        } else if constexpr (std::is_same_v<T, Problem>) {
            problem = messageOf(e.status);
        } else if constexpr (std::is_same_v<T, AllEnded>) {
            hasEnded = true;
        }
    };
    std::visit(visitor, event);
}

std::vector<const LiveRun*> LiveModel::ordered() const {
    std::vector<const LiveRun*> all;
    for (const auto& [id, run] : runs) {
        all.push_back(&run);
    }
    std::sort(all.begin(), all.end(), [](const LiveRun* a, const LiveRun* b) {
        const int aRank = rankOf(a->summary.state), bRank = rankOf(b->summary.state);
        return aRank != bRank ? aRank < bRank : values::isListedBefore(a->summary, b->summary);
    });
    return all;
}

bool LiveModel::isStale(const LiveNode& node, std::int64_t nowMs) {
    return node.receivedMs != 0 && nowMs - node.receivedMs > kStaleMs;
}

const LiveNode* LiveModel::nodeOf(const values::RunSummary& run) const {
    const auto found = nodes.find(run.host);
    if (found != nodes.end()) {
        return &found->second;
    }
    const auto head = std::find_if(nodes.begin(), nodes.end(),
                                   [](const auto& node) { return node.second.info.isHead; });
    return head != nodes.end() ? &head->second : nodes.empty() ? nullptr : &nodes.begin()->second;
}

bool isThere(const values::NodeInfo& node) {
    return node.state == "attached" || node.state == "leaving" || node.state == "draining" ||
           node.state == "drained";
}

std::string stateText(const values::NodeInfo& node) {
    return node.state == "attached" ? "" : node.state;
}

std::optional<double> gpuPercent(const values::NodeSample& sample) {
    double sum = 0;
    int known = 0;
    for (const values::GpuSample& gpu : sample.gpus) {
        if (gpu.utilizationPercent) {
            sum += *gpu.utilizationPercent;
            ++known;
        }
    }
    return known > 0 ? std::optional(sum / known) : std::nullopt;
}

std::string labelOf(const values::RunSummary& run) {
    return run.variation.empty() ? run.name : strCat(run.name, " / ", run.variation);
}

std::string labelOf(const values::RunSummary& run, std::size_t most) {
    const std::string whole = labelOf(run);
    return whole.size() <= most || run.variation.empty() ? whole : run.variation;
}

}  // namespace millrace::session

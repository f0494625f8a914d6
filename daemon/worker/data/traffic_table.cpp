#include "daemon/worker/data/traffic_table.h"

#include <algorithm>
#include <cmath>

namespace millrace::data {
namespace {

// Rates forget: after this time a change is seen to about two thirds.
constexpr double kMemorySeconds = 3;
constexpr double kNothing = 1e-3;

double towards(double before, double now, double seconds) {
    const double value = now + (before - now) * std::exp(-seconds / kMemorySeconds);
    return value < kNothing ? 0 : value;
}

}  // namespace

void TrafficTable::Flow::add(const wire::Traffic& traffic) {
    bytes += traffic.bytes;
    rawBytes += traffic.rawBytes;
    newBytes += traffic.bytes;
    newRawBytes += traffic.rawBytes;
}

void TrafficTable::Flow::tick(double seconds) {
    rate = towards(rate, static_cast<double>(std::exchange(newBytes, 0)) / seconds, seconds);
    rawRate =
        towards(rawRate, static_cast<double>(std::exchange(newRawBytes, 0)) / seconds, seconds);
}

TrafficTable::Node& TrafficTable::nodeOf(const std::string& name) {
    return nodes_[nodes_.size() < kNodesMost || nodes_.contains(name) ? name : std::string()];
}

void TrafficTable::add(const wire::Sender& from, const wire::Sender& to,
                       const wire::Traffic& traffic) {
    if (traffic.bytes == 0 && traffic.waitNs == 0 && traffic.rawBytes == 0) {
        return;
    }
    isNew_ = isNew_ || traffic.bytes > 0;
    nodeOf(from.node).sent.add(traffic);
    nodeOf(to.node).received.add(traffic);
    const std::pair name(from, to);
    if (links_.size() < kLinksMost || links_.contains(name)) {
        Link& link = links_[name];
        link.traffic.add(traffic);
        link.newWaitNs += traffic.waitNs;
    }
}

void TrafficTable::tick(std::int64_t nowNs) {
    const double seconds = lastNs_ < 0 ? 0 : static_cast<double>(nowNs - lastNs_) / 1e9;
    lastNs_ = nowNs;
    if (std::exchange(isNew_, false)) {
        firstNs_ = firstNs_ < 0 ? nowNs - static_cast<std::int64_t>(seconds * 1e9) : firstNs_;
        newestNs_ = nowNs;
    }
    if (seconds <= 0) {
        return;
    }
    for (auto& [name, node] : nodes_) {
        node.sent.tick(seconds);
        node.received.tick(seconds);
    }
    for (auto& [name, link] : links_) {
        const double share =
            std::min(1.0, static_cast<double>(std::exchange(link.newWaitNs, 0)) / 1e9 / seconds);
        link.awaitedShare = towards(link.awaitedShare, share, seconds);
    }
}

double TrafficTable::awaitedShare(const wire::Sender& worker) const {
    double most = 0;
    for (auto link = links_.lower_bound({worker, {}});
         link != links_.end() && link->first.first == worker; ++link) {
        most = std::max(most, link->second.awaitedShare);
    }
    return most;
}

values::FrameTraffic TrafficTable::table() const {
    values::FrameTraffic table;
    for (const auto& [name, node] : nodes_) {
        table.nodes.push_back({name, node.sent.value(), node.received.value()});
    }
    for (const auto& [name, link] : links_) {
        const auto& [from, to] = name;
        table.slowest.push_back(
            {from.node, from.worker, to.node, to.worker, link.traffic.bytes, link.traffic.rawBytes,
             static_cast<double>(link.traffic.waitNs) / 1e9, 100 * link.awaitedShare});
    }
    table.otherNodes = nodes_.contains("") ? 1 : 0;
    table.numLinks = std::ssize(links_);
    table.seconds = static_cast<double>(newestNs_ - firstNs_) / 1e9;
    table.boundNodes();
    table.boundLinks();
    return table;
}

}  // namespace millrace::data

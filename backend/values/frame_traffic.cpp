#include "backend/values/frame_traffic.h"

#include <algorithm>
#include <tuple>

namespace millrace::values {
namespace {

void setMean(FrameFlow& flow, double seconds) {
    flow.bytesPerSecond = seconds > 0 ? static_cast<double>(flow.bytes) / seconds : 0;
    flow.rawBytesPerSecond = seconds > 0 ? static_cast<double>(flow.rawBytes) / seconds : 0;
}

std::uint64_t rawBytesOf(const NodeTraffic& node) {
    return node.sent.rawBytes + node.received.rawBytes;
}

bool isSlower(const LinkTraffic& a, const LinkTraffic& b) {
    const double rateA = a.bytesPerSecond(), rateB = b.bytesPerSecond();
    return std::tie(rateA, a.fromNode, a.fromWorker, a.toNode, a.toWorker) <
           std::tie(rateB, b.fromNode, b.fromWorker, b.toNode, b.toWorker);
}

}  // namespace

void FrameFlow::add(const FrameFlow& other) {
    bytes += other.bytes;
    rawBytes += other.rawBytes;
    bytesPerSecond += other.bytesPerSecond;
    rawBytesPerSecond += other.rawBytesPerSecond;
}

double LinkTraffic::bytesPerSecond() const {
    return awaitedSeconds > 0 ? static_cast<double>(bytes) / awaitedSeconds : 0;
}

bool LinkTraffic::isSameLink(const LinkTraffic& other) const {
    return std::tie(fromNode, fromWorker, toNode, toWorker) ==
           std::tie(other.fromNode, other.fromWorker, other.toNode, other.toWorker);
}

std::optional<double> leadShareOf(std::uint64_t directBytes, std::uint64_t carriedBytes) {
    const std::uint64_t all = directBytes + carriedBytes;
    return all > 0 ? std::optional(static_cast<double>(carriedBytes) / static_cast<double>(all))
                   : std::nullopt;
}

const NodeTraffic* FrameTraffic::node(std::string_view name) const {
    const auto found = std::ranges::find(nodes, name, &NodeTraffic::node);
    return found == nodes.end() ? nullptr : &*found;
}

void FrameTraffic::boundNodes() {
    NodeTraffic others;
    const auto rest = std::ranges::find(nodes, std::string(), &NodeTraffic::node);
    if (rest != nodes.end()) {
        others = *rest;
        nodes.erase(rest);
    }
    std::ranges::sort(nodes, [](const NodeTraffic& a, const NodeTraffic& b) {
        return rawBytesOf(a) != rawBytesOf(b) ? rawBytesOf(a) > rawBytesOf(b) : a.node < b.node;
    });
    while (nodes.size() > kNodesMost) {
        others.sent.add(nodes.back().sent);
        others.received.add(nodes.back().received);
        ++otherNodes;
        nodes.pop_back();
    }
    std::ranges::sort(nodes, {}, &NodeTraffic::node);
    if (otherNodes > 0) {
        nodes.push_back(std::move(others));
    }
}

void FrameTraffic::boundLinks() {
    std::erase_if(slowest, [](const LinkTraffic& link) { return !link.isRated(); });
    std::ranges::sort(slowest, isSlower);
    slowest.resize(std::min(slowest.size(), kSlowestLinks));
}

void FrameTraffic::add(const FrameTraffic& attempt) {
    for (const NodeTraffic& more : attempt.nodes) {
        const auto place = std::ranges::find(nodes, more.node, &NodeTraffic::node);
        NodeTraffic& sum =
            place != nodes.end() ? *place : nodes.emplace_back(NodeTraffic{more.node, {}, {}});
        sum.sent.add(more.sent);
        sum.received.add(more.received);
    }
    for (const LinkTraffic& more : attempt.slowest) {
        const auto place = std::ranges::find_if(
            slowest, [&more](const LinkTraffic& link) { return link.isSameLink(more); });
        if (place == slowest.end()) {
            slowest.push_back(more);
        } else {
            place->bytes += more.bytes;
            place->rawBytes += more.rawBytes;
            place->awaitedSeconds += more.awaitedSeconds;
        }
    }
    otherNodes = std::max(otherNodes, attempt.otherNodes);
    numLinks = std::max(numLinks, attempt.numLinks);
    seconds += attempt.seconds;
    directBytes += attempt.directBytes;
    carriedBytes += attempt.carriedBytes;
    boundNodes();
    boundLinks();
    for (NodeTraffic& node : nodes) {
        setMean(node.sent, seconds);
        setMean(node.received, seconds);
    }
    for (LinkTraffic& link : slowest) {
        link.awaitedPercent = seconds > 0 ? 100 * link.awaitedSeconds / seconds : 0;
    }
}

}  // namespace millrace::values

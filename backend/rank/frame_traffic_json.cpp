#include "backend/rank/frame_traffic_json.h"

#include <string>
#include <utility>

namespace millrace::rank {
namespace {

void addFlow(const std::string& name, const values::FrameFlow& flow, Json& json) {
    json[name + "_bytes"] = flow.bytes;
    json[name + "_raw_bytes"] = flow.rawBytes;
    json[name + "_bytes_per_second"] = jsonNumber(flow.bytesPerSecond);
    json[name + "_raw_bytes_per_second"] = jsonNumber(flow.rawBytesPerSecond);
}

values::FrameFlow flowOf(const std::string& name, const Json& json) {
    return {static_cast<std::uint64_t>(jsonInt(json, name + "_bytes")),
            static_cast<std::uint64_t>(jsonInt(json, name + "_raw_bytes")),
            jsonReal(json, name + "_bytes_per_second"),
            jsonReal(json, name + "_raw_bytes_per_second")};
}

}  // namespace

Json trafficJson(const values::FrameTraffic& traffic) {
    Json nodes = Json::array(), links = Json::array();
    for (const values::NodeTraffic& node : traffic.nodes) {
        Json json = {{"node", node.node}};
        addFlow("sent", node.sent, json);
        addFlow("received", node.received, json);
        nodes.push_back(std::move(json));
    }
    for (const values::LinkTraffic& link : traffic.slowest) {
        links.push_back({{"from_node", link.fromNode},
                         {"from_worker", link.fromWorker},
                         {"to_node", link.toNode},
                         {"to_worker", link.toWorker},
                         {"bytes", link.bytes},
                         {"raw_bytes", link.rawBytes},
                         {"awaited_seconds", jsonNumber(link.awaitedSeconds)},
                         {"awaited_percent", jsonNumber(link.awaitedPercent)}});
    }
    return {{"nodes", std::move(nodes)},
            {"other_nodes", traffic.otherNodes},
            {"links", traffic.numLinks},
            {"slowest_links", std::move(links)},
            {"seconds", jsonNumber(traffic.seconds)},
            {"direct_bytes", traffic.directBytes},
            {"carried_bytes", traffic.carriedBytes}};
}

values::FrameTraffic trafficOf(const Json& json) {
    values::FrameTraffic traffic;
    for (const Json& node : jsonMember(json, "nodes")) {
        traffic.nodes.push_back(
            {jsonString(node, "node"), flowOf("sent", node), flowOf("received", node)});
    }
    for (const Json& link : jsonMember(json, "slowest_links")) {
        values::LinkTraffic one;
        one.fromNode = jsonString(link, "from_node");
        one.fromWorker = jsonString(link, "from_worker");
        one.toNode = jsonString(link, "to_node");
        one.toWorker = jsonString(link, "to_worker");
        one.bytes = static_cast<std::uint64_t>(jsonInt(link, "bytes"));
        one.rawBytes = static_cast<std::uint64_t>(jsonInt(link, "raw_bytes"));
        one.awaitedSeconds = jsonReal(link, "awaited_seconds");
        one.awaitedPercent = jsonReal(link, "awaited_percent");
        traffic.slowest.push_back(std::move(one));
    }
    traffic.otherNodes = jsonInt(json, "other_nodes");
    traffic.numLinks = jsonInt(json, "links");
    traffic.seconds = jsonReal(json, "seconds");
    traffic.directBytes = static_cast<std::uint64_t>(jsonInt(json, "direct_bytes"));
    traffic.carriedBytes = static_cast<std::uint64_t>(jsonInt(json, "carried_bytes"));
    traffic.boundNodes();
    traffic.boundLinks();
    return traffic;
}

}  // namespace millrace::rank

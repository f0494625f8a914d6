#include "app/cli/traffic_tables.h"

#include "app/session/figures.h"
#include "app/session/words.h"
#include "backend/core/status.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;
namespace word = session::word;

std::string bytesOf(std::uint64_t bytes) {
    return formatBytes(static_cast<double>(bytes));
}

// "" for a node that has sent or received nothing.
void addFlow(const values::FrameFlow& flow, std::vector<TableCell>& row) {
    const bool isIdle = flow.rawBytes == 0 && flow.bytes == 0;
    row.insert(row.end(), {isIdle ? "" : bytesOf(flow.bytes), isIdle ? "" : bytesOf(flow.rawBytes),
                           isIdle ? "" : session::rateText(flow.bytesPerSecond)});
}

std::string placeOf(const std::string& node, const std::string& worker) {
    return strCat(worker, " on ", node);
}

}  // namespace

Table nodesTable(const values::FrameTraffic& traffic) {
    Table table({{word::kNode.heading},
                 {"SENT", Align::kRight},
                 {"IN MEMORY", Align::kRight, 8, 1},
                 {"RATE", Align::kRight},
                 {"RECEIVED", Align::kRight},
                 {"IN MEMORY", Align::kRight, 8, 1},
                 {"RATE", Align::kRight}});
    for (const values::NodeTraffic& node : traffic.nodes) {
        std::vector<TableCell> row = {
            {node.node.empty() ? session::countText(traffic.otherNodes, "other node") : node.node,
             node.node.empty() ? Tone::kDim : Tone::kStrong}};
        addFlow(node.sent, row);
        addFlow(node.received, row);
        table.add(std::move(row));
    }
    return table;
}

Table linksTable(const values::FrameTraffic& traffic) {
    Table table({{"SLOWEST LINKS: FROM", Align::kLeft, 12},
                 {"TO", Align::kLeft, 12},
                 {"RATE", Align::kRight},
                 {"AWAITED", Align::kRight},
                 {"SENT", Align::kRight, 8, 1},
                 {"IN MEMORY", Align::kRight, 8, 2}});
    for (const values::LinkTraffic& link : traffic.slowest) {
        table.add({placeOf(link.fromNode, link.fromWorker), placeOf(link.toNode, link.toWorker),
                   session::rateText(link.bytesPerSecond()),
                   strCat(session::durationText(1000 * link.awaitedSeconds), ", ",
                          session::percentText(link.awaitedPercent)),
                   bytesOf(link.bytes), bytesOf(link.rawBytes)});
    }
    return table;
}

std::string ratesText(const values::FrameTraffic& traffic, bool isActive) {
    return strCat("rates: of nodes over ",
                  isActive ? "the last seconds" : session::durationText(1000 * traffic.seconds),
                  "; of links while frames were awaited");
}

}  // namespace millrace::cli

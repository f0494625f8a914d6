#pragma once
// The frames of one run that went between machines: bytes and rates by node, and the slowest links.
// A feed measures them, its daemon passes them on, user interfaces show them.
//
// A link is a connection over which frames go: from a data worker to the leading feed or to a
// relay, or from the leading feed to a relay. Bytes are counted as sent (coded) and in memory
// (raw). Bounded: at most kNodesMost nodes and kSlowestLinks links. Threads: values.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::values {

struct FrameFlow {
    std::uint64_t bytes = 0, rawBytes = 0;  ///< as sent; in memory
    /// While the run is active: of the last seconds. In a receipt: the mean.
    double bytesPerSecond = 0, rawBytesPerSecond = 0;

    void add(const FrameFlow& other);
    bool operator==(const FrameFlow&) const = default;
};

struct NodeTraffic {
    std::string node;  ///< as NodeInfo::name, or the host's name; "": the sum of further nodes
    FrameFlow sent, received;

    bool operator==(const NodeTraffic&) const = default;
};

struct LinkTraffic {
    std::string fromNode, fromWorker;  ///< worker: "feed", "data0", "feed1"; "HOST/PID" by hand
    std::string toNode, toWorker;
    std::uint64_t bytes = 0, rawBytes = 0;
    double awaitedSeconds = 0;  ///< time in which at least one frame was awaited
    double awaitedPercent = 0;  ///< that time's share of the last seconds

    /// The bytes as sent over the awaited time; 0: nobody has waited yet.
    double bytesPerSecond() const;
    /// Returns true if frames were awaited for long enough that the rate describes the link.
    bool isRated() const { return awaitedSeconds >= kLeastAwaitedSeconds; }
    bool isSameLink(const LinkTraffic& other) const;
    bool operator==(const LinkTraffic&) const = default;

    static constexpr double kLeastAwaitedSeconds = 0.1;
};

/// The part that the leading feed sent of the frames for ranks on other nodes; nothing: there are
/// none.
std::optional<double> leadShareOf(std::uint64_t directBytes, std::uint64_t carriedBytes);

struct FrameTraffic {
    static constexpr std::size_t kNodesMost = 256, kSlowestLinks = 5;

    std::vector<NodeTraffic> nodes;  ///< by name; the sum of further nodes last
    std::int64_t otherNodes = 0;     ///< number of nodes in that sum
    std::int64_t numLinks = 0;
    std::vector<LinkTraffic> slowest;  ///< the lowest rate first; only links with isRated()
    double seconds = 0;                ///< time from the first frame to the last one
    /// As DataWorkersReceipt.
    std::uint64_t directBytes = 0, carriedBytes = 0;

    bool isEmpty() const { return nodes.empty(); }
    std::optional<double> leadShare() const { return leadShareOf(directBytes, carriedBytes); }
    /// Returns the node's row; null: it is not listed.
    const NodeTraffic* node(std::string_view name) const;
    /// Sums up more nodes than kNodesMost, those with the fewest bytes; sorts the others by name.
    void boundNodes();
    /// Keeps the kSlowestLinks links with the lowest rates that isRated().
    void boundLinks();
    /// Adds another attempt of the same run. Rates become means over both.
    void add(const FrameTraffic& attempt);
    bool operator==(const FrameTraffic&) const = default;
};

}  // namespace millrace::values

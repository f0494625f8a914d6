#pragma once
// TrafficTable: the frames of a stream between machines, by node and by link, as a feed counts
// them. Used by Lead.
//
// Pure; time is an argument, in nanoseconds of a steady clock. Threads: one owner. Bounds:
// kLinksMost links and kNodesMost nodes; frames of further ones are counted as those of a node
// without a name. Failure: none.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "backend/values/frame_traffic.h"
#include "daemon/worker/wire/owed_frames.h"
#include "daemon/worker/wire/sender.h"

namespace millrace::data {

class TrafficTable {
 public:
    static constexpr std::size_t kLinksMost = 4096, kNodesMost = 1024;

    /// Adds what went over the link since the last call.
    void add(const wire::Sender& from, const wire::Sender& to, const wire::Traffic& traffic);
    /// Updates the rates; call once a second.
    void tick(std::int64_t nowNs);
    /// Returns the share of the last seconds in which frames from `worker` were awaited, over the
    /// most awaited one of its links, 0 to 1.
    double awaitedShare(const wire::Sender& worker) const;
    values::FrameTraffic table() const;

 private:
    struct Flow {
        std::uint64_t bytes = 0, rawBytes = 0;
        std::uint64_t newBytes = 0, newRawBytes = 0;  ///< since the last tick
        double rate = 0, rawRate = 0;                 ///< bytes per second

        void add(const wire::Traffic& traffic);
        void tick(double seconds);
        values::FrameFlow value() const { return {bytes, rawBytes, rate, rawRate}; }
    };
    struct Link {
        wire::Traffic traffic;
        std::int64_t newWaitNs = 0;
        double awaitedShare = 0;
    };
    struct Node {
        Flow sent, received;
    };
    Node& nodeOf(const std::string& name);

    std::map<std::pair<wire::Sender, wire::Sender>, Link> links_;  ///< by sender and receiver
    std::map<std::string, Node> nodes_;                            ///< by name
    std::int64_t lastNs_ = -1, firstNs_ = -1, newestNs_ = -1;
    bool isNew_ = false;  ///< frames came since the last tick
};

}  // namespace millrace::data

#pragma once
// The interface between a feed and the part that has its segments computed elsewhere: code on this
// side of it knows no network.
//
// Threads: attach(), detach() and figures() from the feed's; the queue is used from others until
// detach() returns. Failure: creating one returns a sentence; failures of workers are handled
// behind the interface.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/core/status.h"
#include "backend/frame/codec.h"
#include "backend/ring/frame_ledger.h"
#include "backend/segment/sequence/remote_segment_queue.h"
#include "backend/segment/stream_input.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"
#include "backend/values/frame_traffic.h"

namespace millrace::loader {

class SegmentsElsewhere {
 public:
    struct Figures {
        int workers = 0;                          ///< that are connected
        int workersWanted = 0;                    ///< advice, within the spec's bounds
        std::int64_t rowsRead = 0, rowsKept = 0;  ///< of the segments from elsewhere
        values::FrameTraffic traffic;             ///< since the start; empty on one machine
    };
    /// Totals since the start.
    struct Account {
        std::int64_t segments = 0;  ///< computed elsewhere and delivered here
        double cpuSeconds = 0;      ///< of all workers that were ever connected
        std::uint64_t frameBytes = 0, networkBytes = 0;  ///< 0 over the network on one machine
        /// Frames in memory for ranks on other nodes: fetched from the workers that computed them,
        /// and sent by this feed.
        std::uint64_t directBytes = 0, carriedBytes = 0;
        double linkBytesPerSecond = 0;  ///< for which the codecs were chosen; 0: they were not
        frame::CodecPlan codecs;        ///< by column of the layout; empty: nothing is coded
        bool operator==(const Account&) const = default;
    };
    virtual ~SegmentsElsewhere() = default;
    /// The stream begins, or restarts. Both arguments live until detach().
    virtual void attach(segment::RemoteSegmentQueue& queue,
                        std::shared_ptr<const segment::StreamInput> input) = 0;
    virtual void detach() = 0;
    /// Returns the values since the last call.
    virtual Figures figures() = 0;
    virtual Account account() = 0;
    /// True: workers compute the first segment, too. Otherwise the feed would send its frames to
    /// ranks on other nodes over its own link.
    virtual bool mayStartElsewhere() = 0;
    /// Where the frames that workers owe to ranks on other nodes are counted; null: such ranks get
    /// all frames through this process. Lives as long as this object.
    virtual ring::FrameLedger* ledger() = 0;
    /// Returns whether ranks on other nodes reach rank 0 through this process: it must not end
    /// then.
    virtual bool isCarrying() = 0;
};

/// Returns whether nodes with ranks may have data workers. The feed's threads then compute beside
/// them. On one machine only a given number of threads counts: its spare cores are the feed's.
inline bool mayHaveWorkersBeside(const spec::RunSpec& spec, bool isNetwork) {
    return spec.mayHaveWorkersBesideRanks() && (isNetwork || spec.resources.besideRanks);
}

/// A stream that data workers may join.
struct ElsewhereOptions {
    std::string joinFile;  ///< to be written: workers join with it
    std::string listen;    ///< HOST or HOST:PORT for other machines; "": a unix socket beside it
    std::int64_t attempt = 0;
    std::string buildId;  ///< workers of another build are refused
    spec::RunSpec spec;
    stream::Plan plan;
    bool isUncoded = false;   ///< no codecs are chosen, even if frames come over a network
    std::string feedSocket;   ///< where the rings of ranks behind relays are
    std::string groupSocket;  ///< as FeedJob
};
/// A data worker: `millrace-loader data --join FILE`.
struct DataRequest {
    std::string joinPath;
    int threads = 0;            ///< 0: the spec's, else one a core
    std::int64_t memoryMb = 0;  ///< 0: the spec's
    int waitSeconds = 0;        ///< to wait for the file
    std::string buildId;
};

struct FeedJob;
class FeedEvents;
class FeedOwner;

/// The functions of a program with a network; a program without one has only handOver.
struct DataPlane {
    std::string buildId;
    std::function<Result<std::unique_ptr<SegmentsElsewhere>>(const ElsewhereOptions&)> lead;
    std::function<int(const DataRequest&)> work;
    /// Runs a feed that gets its rings from another one; returns the exit code.
    std::function<int(const FeedJob&, FeedEvents&, FeedOwner&)> follow;
    /// Executes the program that has a network with the same command line. Returns only if it
    /// cannot be started, with the exit code.
    std::function<int()> handOver;
};

}  // namespace millrace::loader

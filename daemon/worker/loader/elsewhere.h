#pragma once
// The wall between a feed and whoever has its segments computed elsewhere: no network is known on
// this side of it.
//
// Threads: attach(), detach() and figures() from the feed's; the desk is used from others until
// detach() returns. Failure: of making one: a sentence; of workers: theirs to cope with.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/core/status.h"
#include "backend/frame/codec.h"
#include "backend/segment/sequence/segment_desk.h"
#include "backend/segment/stream_input.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

class SegmentsElsewhere {
 public:
    struct Figures {
        int workers = 0;                          ///< that are there
        int workersWanted = 0;                    ///< advice, within the spec's bounds
        std::int64_t rowsRead = 0, rowsKept = 0;  ///< of the segments that came from elsewhere
    };
    /// Since the start.
    struct Account {
        std::int64_t segments = 0;  ///< that were computed elsewhere and delivered here
        double cpuSeconds = 0;      ///< of all workers that were ever there
        std::uint64_t frameBytes = 0, networkBytes = 0;  ///< 0 over the network on one machine
        double linkBytesPerSecond = 0;  ///< that the codecs were chosen for; 0: they were not
        frame::CodecPlan codecs;        ///< by column of the layout; empty: nothing is coded
        bool operator==(const Account&) const = default;
    };
    virtual ~SegmentsElsewhere() = default;
    /// The stream begins, or begins again. Both live until detach().
    virtual void attach(segment::SegmentDesk& desk,
                        std::shared_ptr<const segment::StreamInput> input) = 0;
    virtual void detach() = 0;
    /// Since the last call.
    virtual Figures figures() = 0;
    virtual Account account() = 0;
    /// Ranks on other nodes speak with rank 0 through this process: it is not to end.
    virtual bool isCarrying() = 0;
};

/// A stream that data workers may join.
struct ElsewhereOptions {
    std::string joinFile;  ///< to be made: with it workers join
    std::string listen;    ///< HOST or HOST:PORT for other machines; "": a unix socket beside it
    std::int64_t attempt = 0;
    std::string buildId;  ///< workers of another build are refused
    spec::RunSpec spec;
    stream::Plan plan;
    std::optional<frame::CodecPlan>
        codecs;               ///< given; none: chosen for the network, if there is one
    std::string feedSocket;   ///< where the ranks behind relays have their rings
    std::string groupSocket;  ///< as FeedJob
};
/// A data worker: `millrace-loader data --join FILE`.
struct DataRequest {
    std::string joinPath;
    int threads = 0;            ///< 0: the spec's, else one a core
    std::int64_t memoryMb = 0;  ///< 0: the spec's
    int waitSeconds = 0;        ///< for the file to be there
    std::string buildId;
};

struct FeedJob;
class FeedEvents;
class FeedOwner;

/// What a program with a network has; one without has handOver alone.
struct DataPlane {
    std::string buildId;
    std::function<Result<std::unique_ptr<SegmentsElsewhere>>(const ElsewhereOptions&)> lead;
    std::function<int(const DataRequest&)> work;
    /// A feed whose rings come from another one; the exit code.
    std::function<int(const FeedJob&, FeedEvents&, FeedOwner&)> follow;
    /// The same command line to the program that has a network; returns when it cannot be started,
    /// with the exit code.
    std::function<int()> handOver;
};

}  // namespace millrace::loader

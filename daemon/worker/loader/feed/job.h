#pragma once
// FeedJob: what a feed must serve: a run, from its job.json, or what a command line describes.
//
// Threads: values. Failure: kInvalidArgument and the errors of reading a spec and its dataset; a
// sentence with the place.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/ring/feed_server.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"
#include "backend/stream/state/cursor.h"
#include "daemon/worker/loader/memory.h"
#include "daemon/worker/loader/resolve.h"

namespace millrace::loader {

/// A feed that no daemon started: `millrace-loader feed --spec FILE`.
struct FeedRequest : SpecChoice {
    std::string socketPath;
    int worldSize = 0;       ///< 0: the spec's train.ranks
    std::vector<int> ranks;  ///< served here; empty: all
    std::int64_t attempt = 0;
    int lifeFd = -1;          ///< the feed ends when this descriptor closes; -1: none
    std::string joinFile;     ///< data workers join with it; "": if the spec has them, beside the
                              ///< socket
    std::string listen;       ///< as ElsewhereOptions
    bool isUncoded = false;   ///< as ElsewhereOptions
    std::string follow;       ///< as FeedJob; without a spec then
    std::string groupSocket;  ///< as FeedJob
};

struct FeedJob {
    std::int64_t attempt = 1;  ///< hellos of another attempt are refused
    spec::RunSpec spec;        ///< train.ranks: for the whole stream
    stream::Plan plan;
    std::string feedSocket;
    std::vector<int> ranks;       ///< served here, ascending; empty for a relay: all
    std::string joinFile;         ///< to be written; "": no data workers and no relays
    bool hasDataWorkers = false;  ///< they may compute its segments
    std::string listen;           ///< as ElsewhereOptions
    bool isUncoded = false;       ///< as ElsewhereOptions
    std::string follow;  ///< the join file of the feed that this relay gets its rings from; "": not
                         ///< a relay. A relay knows neither spec nor plan
    std::string groupSocket;  ///< of the ranks of the built-in trainer; "": not carried
    // For a run:
    std::string run;
    int feed = 0;  ///< as job::JobFile
    std::string rankSocket;
    std::int64_t startStep = 0;  ///< the step of the checkpoint that the attempt resumes from
    std::string directory;       ///< the feed's own, for files that it must keep

    static Result<FeedJob> read(const std::string& path);
    static Result<FeedJob> resolve(const FeedRequest& request);

    int worldSize() const { return static_cast<int>(spec.train.ranks); }
    LoaderSetUp setUp() const;
    /// Returns whether the stream can have such a position. A rank's state has no checksum of its
    /// own: a changed one would end the stream silently.
    Status checkPlace(const stream::Cursor& at) const;
};

/// Adds a description of the features in a spec's frames to what a feed tells its readers.
void tellInputs(const spec::RunSpec& spec, ring::FeedServerOptions& server);

}  // namespace millrace::loader

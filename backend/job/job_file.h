#pragma once
// JobFile: what every worker of an attempt is given to do, job.json (docs/formats/job.md).
//
// The daemon writes it before it starts anything of the attempt; the feed and each rank read it
// once. Threads: a value. Failure: an error names the member and, where there is one, the file; a
// file of another version is refused by its number.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/job/attempt_paths.h"
#include "backend/spec/run_spec.h"

namespace millrace::job {

struct JobFile {
    static constexpr std::int64_t kVersion = 1;

    std::string run, uid;
    std::int64_t attempt = 1;
    spec::RunSpec spec;
    std::string specHash, streamHash;  ///< "" when read: taken from `spec`
    std::string planHash;
    std::string planText;  ///< the plan's JSON; "": none. Of very many files it is
                           ///< megabytes, so it is never built as a tree here
    std::string resume;    ///< checkpoint to go on from; "": from the start
    std::string initFrom;  ///< checkpoint whose weights to start with; "": none
    std::string checkpointDirectory;
    std::string rankSocket, feedSocket;
    std::string dataListen;  ///< HOST where the feed listens for data workers of other machines;
                             ///< "": a unix socket
    // Ranks on other nodes (docs/architecture/data-plane.md).
    int followers = 0;   ///< relays that will come: the feed makes its join file for them
    std::string follow;  ///< the leading feed's join file, of a relay's job; "": this feed leads
    std::vector<int> ranks;  ///< a relay's: those that are served here, ascending
    int feed = 0;            ///< on the rank line; 0: the feed that leads

    /// The same job in another node's directory: sockets, join file and the checkpoint of
    /// `initFrom` are there, and so are its own checkpoints where the node does not see the head's.
    void moveTo(const AttemptPaths& paths, bool seesCheckpoints);

    std::string toText() const;
    static Result<JobFile> fromText(std::string_view text);
    static Result<JobFile> read(const std::string& path);
    /// Whole or not at all, readable by its owner alone.
    Status write(const std::string& path) const;
};

}  // namespace millrace::job

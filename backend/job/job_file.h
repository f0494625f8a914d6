#pragma once
// JobFile: the task of every worker of an attempt, job.json (docs/formats/job.md).
//
// The daemon writes it before it starts any worker of the attempt; the feed and each rank read it
// once. Threads: a value. Failure: an error names the member and, if known, the file; the error for
// an unsupported version names the version.
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
    std::string specHash, streamHash;  ///< "" when read: computed from `spec`
    std::string planHash;
    std::string planText;  ///< the plan's JSON; "": none. With very many files it has megabytes, so
                           ///< it is never parsed into a tree here
    std::string resume;    ///< checkpoint to resume from; "": from the start
    std::string initFrom;  ///< checkpoint with the initial weights; "": none
    std::string checkpointDirectory;
    std::string rankSocket, feedSocket;
    std::string dataListen;  ///< HOST where the feed listens for data workers of other machines;
                             ///< "": a unix socket
    // Ranks on other nodes (docs/architecture/data-plane.md).
    int followers = 0;       ///< number of relays: the feed makes its join file for them
    std::string follow;      ///< a relay's job: the leading feed's join file; "": this feed leads
    std::vector<int> ranks;  ///< a relay's job: the ranks served here, ascending
    int feed = 0;            ///< feed number on the rank line; 0: the leading feed

    /// Adapts the job to another node's directory: moves sockets, the join file and the checkpoint
    /// of `initFrom` there, and its own checkpoints as well if the node does not see the head's.
    void moveTo(const AttemptPaths& paths, bool seesCheckpoints);

    std::string toText() const;
    static Result<JobFile> fromText(std::string_view text);
    static Result<JobFile> read(const std::string& path);
    /// Writes the file atomically, readable only by its owner.
    Status write(const std::string& path) const;
};

}  // namespace millrace::job

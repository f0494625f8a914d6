#pragma once
// What a feed reads of its job.json (docs: the daemon writes it, every worker of the job reads it).
#include <string>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

struct FeedJob {
    std::string run;
    std::int64_t attempt = 0;
    spec::RunSpec spec;
    stream::Plan plan;
    std::string rankSocket, feedSocket;
    std::string directory;  ///< the feed's own, for what it must keep

    static Result<FeedJob> read(const std::string& path);
};

}  // namespace millrace::loader

#pragma once
// What a feed makes of its job.json: the job, and the plan as a value.
#include <string>

#include "backend/job/job_file.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

struct FeedJob : job::JobFile {
    stream::Plan plan;
    std::string directory;  ///< the feed's own, for what it must keep

    static Result<FeedJob> read(const std::string& path);
};

}  // namespace millrace::loader

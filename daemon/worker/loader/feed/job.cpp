#include "daemon/worker/loader/feed/job.h"

#include "backend/core/files.h"
#include "backend/job/attempt_paths.h"

namespace millrace::loader {
namespace {

Result<stream::Plan> planOf(const std::string& text) {
    if (text.empty()) {
        return invalidArgument("plan: there is none; a feed needs one");
    }
    ASSIGN_OR_RETURN(const Json json, parseJson(text, "plan"));
    return stream::Plan::fromJson(json);
}

}  // namespace

Result<FeedJob> FeedJob::read(const std::string& path) {
    FeedJob job;
    ASSIGN_OR_RETURN(static_cast<job::JobFile&>(job), job::JobFile::read(path));
    Result<stream::Plan> plan = planOf(job.planText);
    if (!plan.ok()) {
        return annotate(plan.status(), path);
    }
    job.plan = std::move(*plan);
    job.planText = {};
    job.directory = job::AttemptPaths::ofJob(path).worker(job::kFeed);
    RETURN_IF_ERROR(makeDirectories(job.directory, 0700));
    return job;
}

}  // namespace millrace::loader

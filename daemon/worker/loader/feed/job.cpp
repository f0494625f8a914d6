#include "daemon/worker/loader/feed/job.h"

#include <filesystem>

#include "backend/core/files.h"
#include "backend/core/json.h"

namespace millrace::loader {

Result<FeedJob> FeedJob::read(const std::string& path) {
    ASSIGN_OR_RETURN(const std::string text, readFile(path));
    ASSIGN_OR_RETURN(const Json json, parseJson(text, path));
    FeedJob job;
    job.run = jsonString(json, "run");
    job.attempt = jsonInt(json, "attempt");
    job.rankSocket = jsonString(json, "rank_socket");
    job.feedSocket = jsonString(json, "feed_socket");
    if (job.feedSocket.empty() || job.rankSocket.empty()) {
        return invalidArgument(path, ": rank_socket and feed_socket are needed");
    }
    job.directory = (std::filesystem::path(path).parent_path() / "feed").string();
    RETURN_IF_ERROR(makeDirectories(job.directory, 0700));
    auto spec = spec::RunSpec::fromJson(jsonMember(json, "spec"));
    if (!spec.ok()) {
        return annotate(spec.status(), strCat(path, ": spec"));
    }
    job.spec = std::move(*spec);
    auto plan = stream::Plan::fromJson(jsonMember(json, "plan"));
    if (!plan.ok()) {
        return annotate(plan.status(), strCat(path, ": plan"));
    }
    job.plan = std::move(*plan);
    return job;
}

}  // namespace millrace::loader

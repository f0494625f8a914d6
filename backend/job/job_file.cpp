#include "backend/job/job_file.h"

#include "backend/core/files.h"
#include "backend/core/json_slices.h"

namespace millrace::job {
namespace {

constexpr std::int64_t kMostAttempts = 1'000'000'000;

Json textOrNull(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Status checkVersion(const Json& json) {
    const Json& version = jsonMember(json, "version");
    if (!version.is_number_integer()) {
        return invalidArgument("'version' must be a number; this program reads version ",
                               JobFile::kVersion);
    }
    return version == JobFile::kVersion
               ? okStatus()
               : invalidArgument("is of version ", dumpJson(version),
                                 "; this program reads version ", JobFile::kVersion,
                                 ": the daemon and its workers are of different builds");
}

Status needText(const Json& json, const char* key, std::string& into) {
    into = jsonString(json, key);
    return into.empty() ? invalidArgument("'", key, "' must be text") : okStatus();
}

Status readMembers(const Json& json, JobFile& job) {
    RETURN_IF_ERROR(checkVersion(json));
    RETURN_IF_ERROR(needText(json, "run", job.run));
    job.uid = jsonString(json, "uid");
    job.attempt = jsonInt(json, "attempt");
    if (job.attempt < 1 || job.attempt > kMostAttempts) {
        return invalidArgument("'attempt' must be a number from 1");
    }
    RETURN_IF_ERROR(needText(json, "checkpoint_dir", job.checkpointDirectory));
    RETURN_IF_ERROR(needText(json, "rank_socket", job.rankSocket));
    RETURN_IF_ERROR(needText(json, "feed_socket", job.feedSocket));
    auto spec = spec::RunSpec::fromJson(jsonMember(json, "spec"));
    if (!spec.ok()) {
        return annotate(spec.status(), "spec");
    }
    job.spec = std::move(*spec);
    job.specHash = jsonString(json, "spec_hash");
    job.streamHash = jsonString(json, "stream_hash");
    job.specHash = job.specHash.empty() ? spec::specHash(job.spec) : job.specHash;
    job.streamHash = job.streamHash.empty() ? spec::streamHash(job.spec) : job.streamHash;
    job.planHash = jsonString(json, "plan_hash");
    job.resume = jsonString(json, "resume");
    job.initFrom = jsonString(json, "init_from");
    job.dataListen = jsonString(json, "data_listen");
    return okStatus();
}

}  // namespace

std::string JobFile::toText() const {
    const Json json = {{"version", kVersion},
                       {"run", run},
                       {"uid", uid},
                       {"attempt", attempt},
                       {"spec", spec.toJson()},
                       {"spec_hash", specHash},
                       {"stream_hash", streamHash},
                       {"plan_hash", planHash},
                       {"resume", textOrNull(resume)},
                       {"init_from", textOrNull(initFrom)},
                       {"data_listen", textOrNull(dataListen)},
                       {"checkpoint_dir", checkpointDirectory},
                       {"rank_socket", rankSocket},
                       {"feed_socket", feedSocket}};
    const std::string rest = dumpJson(json);
    return strCat(R"({"plan":)", planText.empty() ? "null" : planText, ",", rest.substr(1));
}

Result<JobFile> JobFile::fromText(std::string_view text) {
    JobFile job;
    const std::string_view plan = jsonMemberText(text, "plan").value_or("null");
    ASSIGN_OR_RETURN(const Json json, parseJson(withJsonMember(text, "plan", "null"), "job"));
    RETURN_IF_ERROR(annotate(readMembers(json, job), "job"));
    job.planText = plan == "null" ? "" : plan;
    return job;
}

Result<JobFile> JobFile::read(const std::string& path) {
    ASSIGN_OR_RETURN(const std::string text, readFile(path));
    Result<JobFile> job = fromText(text);
    if (!job.ok()) {
        return annotate(job.status(), path);
    }
    return job;
}

Status JobFile::write(const std::string& path) const {
    return writeFileAtomic(path, toText(), 0600);
}

}  // namespace millrace::job

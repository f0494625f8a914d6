#include "backend/job/job_file.h"

#include <filesystem>

#include "backend/filesystem/files.h"
#include "backend/text/json_slices.h"

namespace millrace::job {
namespace {

constexpr std::int64_t kMostAttempts = 1'000'000'000;
constexpr std::int64_t kMostFeeds = 4096;

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

Status readCount(const Json& json, const char* key, int& into) {
    const std::int64_t count = jsonInt(json, key);
    if (count < 0 || count > kMostFeeds) {
        return invalidArgument("'", key, "' must be a number from 0 to ", kMostFeeds);
    }
    into = static_cast<int>(count);
    return okStatus();
}

/// Reads a relay's ranks and feed number.
Status readRelay(const Json& json, JobFile& job) {
    RETURN_IF_ERROR(readCount(json, "followers", job.followers));
    RETURN_IF_ERROR(readCount(json, "feed", job.feed));
    job.follow = jsonString(json, "follow");
    const Json& ranks = jsonMember(json, "ranks");
    for (const Json& rank : ranks.is_array() ? ranks : Json::array()) {
        const std::int64_t number = rank.is_number_integer() ? rank.get<std::int64_t>() : -1;
        if (number < 0 || number >= job.spec.train.ranks ||
            (!job.ranks.empty() && number <= job.ranks.back())) {
            return invalidArgument("'ranks' must hold ranks of the spec's ", job.spec.train.ranks,
                                   ", ascending");
        }
        job.ranks.push_back(static_cast<int>(number));
    }
    if (job.follow.empty() != job.ranks.empty() || job.follow.empty() != (job.feed == 0)) {
        return invalidArgument(
            "'follow', 'ranks' and a 'feed' from 1 belong together: they make a relay");
    }
    return okStatus();
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
    return readRelay(json, job);
}

}  // namespace

void JobFile::moveTo(const AttemptPaths& paths, bool seesCheckpoints) {
    rankSocket = paths.rankSocket();
    feedSocket = paths.feedSocket();
    follow = follow.empty() ? "" : paths.joinFile();
    const auto here = [&](const std::string& path) {
        return path.empty() ? std::string()
                            : strCat(paths.directory(), "/",
                                     std::filesystem::path(path).filename().string());
    };
    initFrom = here(initFrom);
    if (!seesCheckpoints) {
        resume = here(resume);
        checkpointDirectory = paths.checkpoints();
    }
}

std::string JobFile::toText() const {
    Json json = {{"version", kVersion},
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
    if (followers > 0) {
        json["followers"] = followers;
    }
    if (!follow.empty()) {
        json["follow"] = follow;
        json["ranks"] = ranks;
        json["feed"] = feed;
    }
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

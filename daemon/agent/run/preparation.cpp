#include "daemon/agent/run/preparation.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <unistd.h>

#include "backend/core/text.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kFirstPauseNs = 1'000'000'000, kMostPauseNs = 30 * kFirstPauseNs;

Status writeJob(const Workplace& place, job::JobFile job, const AttemptStart& start) {
    const RunDirectory directory(place.runsDir, job.run);
    const int attempt = static_cast<int>(job.attempt);
    RETURN_IF_ERROR(directory.prepare(attempt, place.sharedCheckpoints));
    if (const std::string shared = directory.paths().sharedCheckpoints(); !shared.empty()) {
        // Nodes see it, and not the link to it.
        job.checkpointDirectory = shared;
        job.resume = job.resume.empty() ? "" : shared + job.resume.substr(job.resume.rfind('/'));
    }
    ASSIGN_OR_RETURN(job.planText, place.store.document(job.run, values::LargeDocument::kPlan));
    RETURN_IF_ERROR(job.write(directory.paths().attempt(attempt).jobFile()));
    return directory.writeAttempt(attempt, start);
}

}  // namespace

// Reads files whole: minutes, where checkpoints are large.
bool Preparation::askSurvey(SurveyOrder order, Surveyed then) {
    order.fromStep = fromStep_;
    return place_.side.run([&place = place_, number = number_, order = std::move(order),
                            then = std::move(then), stop = stop_.get_token(),
                            bytesRead = bytesRead_](const auto& isEnding) -> SideThread::Then {
        const checkpoint::ReadWatch watch{[&] { return stop.stop_requested() || isEnding(); },
                                          [&](std::uint64_t bytes) { *bytesRead += bytes; }};
        return [then, number, survey = place.checkpoints.survey(order, watch)] {
            then(number, survey);
        };
    });
}

std::int64_t Preparation::resumeStep() const {
    return survey_.has_value() && survey_->chosen.has_value() ? survey_->chosen->step : 0;
}

// The plan of very many files is many megabytes.
bool Preparation::askJob(job::JobFile job, const AttemptStart& start, Written then) {
    return place_.documents.run([&place = place_, number = number_, job = std::move(job), start,
                                 then = std::move(then)](const auto&) -> SideThread::Then {
        return [then, number, written = writeJob(place, job, start)] { then(number, written); };
    });
}

std::string Preparation::text() const {
    const std::uint64_t bytes = bytesRead_->load();
    return survey_.has_value() ? "its job is being written"
           : bytes == 0        ? "reads its checkpoints"
                        : strCat("reads its checkpoints: ", formatBytes(static_cast<double>(bytes)),
                                 " so far");
}

std::int64_t pauseBehind(std::int64_t lastNs, bool awaitsNodes) {
    return awaitsNodes ? kFirstPauseNs : std::clamp(2 * lastNs, kFirstPauseNs, kMostPauseNs);
}

std::int64_t pauseBehindIdle(int attempts) {
    return std::min(kFirstPauseNs << std::clamp(attempts - 1, 0, 5), kMostPauseNs);
}

Status endFormer(const Workplace& place, const std::string& key) {
    constexpr std::chrono::milliseconds kGrace{2'000};
    if (!place.nodes.has("", key).value_or(false)) {  // also takes up what was not written as ended
        return okStatus();
    }
    const auto state = place.nodes.state("", key);
    if (!state.has_value() || !engines::isLiving(*state)) {
        return okStatus();
    }
    RETURN_IF_ERROR(place.nodes.end("", key, {kGrace, "another attempt is about to start"}));
    return unavailable("workers of ", key, " are being ended");
}

Result<std::string> findInitFrom(const Workplace& place, const std::string& run) {
    if (run.empty()) {
        return std::string();
    }
    const Result<std::string> other = place.store.findId(run);
    if (!other.ok()) {
        return annotate(other.status(), "train.init_from");
    }
    const std::string folder = job::RunPaths(place.runsDir, *other).checkpoints();
    ASSIGN_OR_RETURN(const auto checkpoints, place.store.checkpoints(*other));
    for (const runs::CheckpointRecord& checkpoint : checkpoints) {
        const std::string path = strCat(folder, "/", checkpoint.name);
        if (::access(path.c_str(), R_OK) == 0) {
            return path;
        }
        if (errno != ENOENT) {
            return annotate(errnoStatus(errno, path), "train.init_from");
        }
    }
    return failedPrecondition("train.init_from: run ", *other, " has no checkpoint");
}

}  // namespace millrace::agent

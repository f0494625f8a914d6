#include "daemon/agent/run/preparation.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <unistd.h>

#include "backend/checkpoint/checkpoint_directory.h"
#include "backend/filesystem/files.h"
#include "backend/text/json.h"
#include "backend/text/text.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kFirstPauseNs = 1'000'000'000, kMostPauseNs = 30 * kFirstPauseNs;

Status writeJob(const Workplace& place, job::JobFile job, const AttemptStart& start) {
    const RunDirectory directory(place.runsDir, job.run);
    const int attempt = static_cast<int>(job.attempt);
    RETURN_IF_ERROR(directory.prepare(attempt, place.sharedCheckpoints));
    if (const std::string shared = directory.paths().sharedCheckpoints(); !shared.empty()) {
        // Nodes see the shared directory, but not the link to it.
        job.checkpointDirectory = shared;
        job.resume = job.resume.empty() ? "" : shared + job.resume.substr(job.resume.rfind('/'));
    }
    ASSIGN_OR_RETURN(job.planText, place.store.document(job.run, values::LargeDocument::kPlan));
    RETURN_IF_ERROR(job.write(directory.paths().attempt(attempt).jobFile()));
    return directory.writeAttempt(attempt, start);
}

}  // namespace

// Reads whole files: this takes minutes if checkpoints or the rows to be counted are large.
bool Preparation::askSurvey(CheckpointScanRequest order, Surveyed then) {
    order.fromStep = fromStep_;
    progress_ = std::make_shared<Progress>();
    SideThread& thread = isCounting_ ? place_.counting : place_.side;
    return thread.run([&place = place_, number = number_, order = std::move(order),
                       then = std::move(then), stop = stop_.get_token(), progress = progress_,
                       isCounting = isCounting_](const auto& isEnding) -> SideThread::Then {
        if (progress->isTaken.test_and_set()) {
            return [] {};
        }
        const auto isUnwanted = [&] { return stop.stop_requested() || isEnding(); };
        const checkpoint::ReadWatch watch{
            isUnwanted, [&](std::uint64_t bytes) { progress->bytesRead += bytes; }};
        return [then, number,
                scan = isCounting ? count(place, order.runId, *progress, isUnwanted)
                                  : place.checkpoints.scan(order, watch)] { then(number, scan); };
    });
}

// Stores the counted values before anything uses them.
CheckpointScan Preparation::count(const Workplace& place, const std::string& run,
                                  Progress& progress, const std::function<bool()>& isUnwanted) {
    const std::string file = RunDirectory(place.runsDir, run).path() + "/counting.json";
    const auto look = [&] {
        const Result<std::string> text = readFile(file);
        const Json told = text.ok() ? parseJson(*text, file).value_or(Json()) : Json();
        progress.rows = jsonInt(told, "rows");
        progress.allRows = jsonInt(told, "all_rows");
        return isUnwanted();
    };
    const auto counted = [&]() -> Result<runs::CountedSpec> {
        ASSIGN_OR_RETURN(const runs::RunRecord record, place.store.get(run));
        ASSIGN_OR_RETURN(const std::string plan,
                         place.store.document(run, values::LargeDocument::kPlan));
        ASSIGN_OR_RETURN(runs::CountedSpec found,
                         isUnwanted() ? cancelled("stopped")
                                      : place.countValues(record.resolvedSpec, plan, file, look));
        RETURN_IF_ERROR(place.store.setCounted(run, found));
        return found;
    }();
    ::unlink(file.c_str());
    CheckpointScan scan;
    scan.status = counted.status();
    if (counted.ok()) {
        const Result<SharedSpec> spec = readSpec(counted->resolvedSpec);
        scan.status = spec.status();
        scan.spec = spec.value_or(nullptr);
        scan.counted = *counted;
        scan.events.push_back("the values of its vocabularies are counted");
    }
    return scan;
}

std::int64_t Preparation::resumeStep() const {
    return scan_.has_value() && scan_->chosen.has_value() ? scan_->chosen->step : 0;
}

// Runs on another thread: the plan of very many files has many megabytes.
bool Preparation::askJob(job::JobFile job, const AttemptStart& start, Written then) {
    return place_.documents.run([&place = place_, number = number_, job = std::move(job), start,
                                 then = std::move(then)](const auto&) -> SideThread::Then {
        return [then, number, written = writeJob(place, job, start)] { then(number, written); };
    });
}

std::string Preparation::text() const {
    const std::uint64_t bytes = progress_->bytesRead.load();
    const std::int64_t rows = progress_->rows.load(), all = progress_->allRows.load();
    if (isCounting_ && !scan_.has_value()) {
        return all == 0 ? "waits for the values of its vocabularies to be counted"
                        : strCat("counts the values of its vocabularies: ", 100 * rows / all,
                                 " % of ", formatCount(all), " rows");
    }
    return scan_.has_value() ? "its job is being written"
           : bytes == 0      ? "reads its checkpoints"
                        : strCat("reads its checkpoints: ", formatBytes(static_cast<double>(bytes)),
                                 " so far");
}

bool isToBeCounted(const spec::RunSpec& spec) {
    return std::any_of(spec.embeddings.begin(), spec.embeddings.end(), [](const auto& entry) {
        return entry.second.vocabulary.has_value() && entry.second.vocabulary->isPending();
    });
}

std::int64_t pauseBehind(std::int64_t lastNs, bool awaitsNodes) {
    return awaitsNodes ? kFirstPauseNs : std::clamp(2 * lastNs, kFirstPauseNs, kMostPauseNs);
}

std::int64_t pauseBehindIdle(int attempts) {
    return std::min(kFirstPauseNs << std::clamp(attempts - 1, 0, 5), kMostPauseNs);
}

Status endFormer(const Workplace& place, const std::string& key) {
    constexpr std::chrono::milliseconds kGrace{2'000};
    if (!place.nodes.has("", key).value_or(false)) {  // also loads gangs without a recorded end
        return okStatus();
    }
    const auto state = place.nodes.state("", key);
    if (!state.has_value() || !engines::isLiving(*state)) {
        return okStatus();
    }
    RETURN_IF_ERROR(place.nodes.end("", key, {kGrace, "another attempt is about to start"}));
    return unavailable("workers of ", key, " are being ended");
}

namespace {

// The ids of counted values are their positions, so other values mean other ids.
Status checkSameValues(const spec::RunSpec& own, const runs::RunRecord& from) {
    const Result<SharedSpec> other = readSpec(from.resolvedSpec);
    const auto hashOf = [](const spec::RunSpec& spec, const std::string& name) {
        const auto table = spec.embeddings.find(name);
        const bool isKnown = table != spec.embeddings.end() && table->second.vocabulary.has_value();
        return isKnown ? table->second.vocabulary->hash : std::string();
    };
    for (const auto& [name, table] : own.embeddings) {
        const std::string before = other.ok() ? hashOf(**other, name) : "";
        const std::string now = hashOf(own, name);
        if (!before.empty() && !now.empty() && before != now) {
            return failedPrecondition(
                "train.init_from: run ", from.id, " counted other values for embeddings.", name,
                ", so its rows belong to other ids; give both runs one file of values "
                "(vocabulary: {table: PATH, column: NAME})");
        }
    }
    return okStatus();
}

}  // namespace

Result<std::string> findInitFrom(const Workplace& place, const spec::RunSpec& spec) {
    if (spec.train.initFrom.empty()) {
        return std::string();
    }
    const Result<std::string> other = place.store.findId(spec.train.initFrom);
    if (!other.ok()) {
        return annotate(other.status(), "train.init_from");
    }
    ASSIGN_OR_RETURN(const runs::RunRecord learnt, place.store.get(*other));
    RETURN_IF_ERROR(checkSameValues(spec, learnt));
    const std::string folder = job::RunPaths(place.runsDir, *other).checkpoints();
    std::vector<std::string> names = {checkpoint::kBestName};
    if (!spec.train.initBest) {
        ASSIGN_OR_RETURN(const auto checkpoints, place.store.checkpoints(*other));
        names.clear();
        for (const runs::CheckpointRecord& checkpoint : checkpoints) {
            names.push_back(checkpoint.name);
        }
    }
    for (const std::string& name : names) {
        const std::string path = strCat(folder, "/", name);
        if (::access(path.c_str(), R_OK) == 0) {
            return path;
        }
        if (errno != ENOENT) {
            return annotate(errnoStatus(errno, path), "train.init_from");
        }
    }
    return failedPrecondition("train.init_from: run ", *other,
                              spec.train.initBest
                                  ? " has no best checkpoint; one is kept where its spec has "
                                    "train.early_stop"
                                  : " has no checkpoint");
}

}  // namespace millrace::agent

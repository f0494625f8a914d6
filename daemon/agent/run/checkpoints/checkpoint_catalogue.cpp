#include "daemon/agent/run/checkpoints/checkpoint_catalogue.h"

#include <algorithm>
#include <map>

#include "backend/core/log.h"
#include "backend/core/transient.h"
#include "backend/feed/link/step_page.h"
#include "backend/scores/score_file.h"
#include "daemon/agent/run/run_directory.h"

namespace millrace::agent {
namespace {

using checkpoint::CheckpointDirectory;
using checkpoint::CheckpointInfo;
using checkpoint::CheckpointName;
using runs::CheckpointRecord;

constexpr std::string_view kDamaged = "damaged", kForeign = "foreign", kVoid = "void";

// The attempts and checkpoints of a run that the store has.
struct Course {
    std::vector<CheckpointRecord> records;  // with deleted ones, newest first
    std::vector<runs::AttemptRecord> attempts;

    static Result<Course> read(const runs::RunStore& store, const RunDirectory& directory,
                               const std::string& runId) {
        Course course;
        ASSIGN_OR_RETURN(course.records, store.checkpoints(runId, true));
        ASSIGN_OR_RETURN(course.attempts, store.attempts(runId));
        // Ranks of this machine may have ended without reporting their last steps; those are in the
        // attempt's step page.
        for (runs::AttemptRecord& one : course.attempts) {
            const std::string page = directory.paths().attempt(one.attempt).stepPage();
            one.settledStep =
                std::max(one.settledStep, ring::StepPage::endedByAll(page, one.numRanks));
        }
        return course;
    }
    const CheckpointRecord* find(const CheckpointName& name) const {
        const std::string text = name.text();
        const auto found = std::find_if(records.begin(), records.end(),
                                        [&](const auto& record) { return record.name == text; });
        return found == records.end() ? nullptr : &*found;
    }
    bool isLive(const CheckpointName& name) const {
        const CheckpointRecord* record = find(name);
        return record != nullptr && !record->isDeleted && isSettled(record->attempt, record->step);
    }
    /// Whether an attempt may resume from there.
    bool leadsOn(std::int64_t attempt, std::int64_t step) const {
        return contains(attempt, step) && isSettled(attempt, step);
    }
    /// Whether all ranks of the attempt have ended that step.
    bool isSettled(std::int64_t attempt, std::int64_t step) const {
        return std::all_of(attempts.begin(), attempts.end(), [&](const auto& one) {
            return one.attempt != attempt || step <= one.settledStep;
        });
    }
    bool contains(std::int64_t attempt, std::int64_t step) const {
        return runs::isOnCourse(attempts, attempt, step);
    }
};

// Returns nullopt if the directory does not exist.
Result<std::optional<CheckpointDirectory>> openIfThere(const std::string& path) {
    Result<CheckpointDirectory> directory = CheckpointDirectory::open(path);
    if (absl::IsNotFound(directory.status())) {
        return std::optional<CheckpointDirectory>();
    }
    RETURN_IF_ERROR(directory.status());
    return std::optional<CheckpointDirectory>(std::move(*directory));
}

CheckpointRecord recordOf(const CheckpointName& name, const CheckpointInfo& facts) {
    CheckpointRecord record;
    record.attempt = static_cast<int>(facts.attempt);
    record.step = facts.step;
    record.epoch = facts.epoch;
    record.name = name.text();
    record.bytes = facts.bytes;
    record.hash = facts.hash;
    record.cursor = facts.state;
    record.timeMs = facts.timeMs;
    return record;
}

/// Whether `a` is better than `b`; both are on the same course.
bool isBetter(const CheckpointInfo& a, const CheckpointInfo& b) {
    if (a.judgement->wasBest != b.judgement->wasBest) {
        return a.judgement->wasBest;
    }
    // Each checkpoint that was the best was better than all before it.
    return a.judgement->wasBest          ? a.step > b.step
           : a.judgement->isHigherBetter ? a.judgement->value > b.judgement->value
                                         : a.judgement->value < b.judgement->value;
}

/// The best checkpoint among the files on the course; nothing if none was evaluated.
Result<std::optional<CheckpointName>> bestOnCourse(const CheckpointDirectory& directory,
                                                   const Course& course) {
    std::optional<CheckpointName> best;
    CheckpointInfo bestFacts;
    ASSIGN_OR_RETURN(const std::vector<CheckpointName> names, directory.list());
    for (const CheckpointName& name : names) {
        const Result<CheckpointInfo> facts = directory.facts(name);
        if (absl::IsNotFound(facts.status()) || absl::IsDataLoss(facts.status())) {
            continue;
        }
        RETURN_IF_ERROR(facts.status());
        if (facts->judgement.has_value() && course.contains(facts->attempt, facts->step) &&
            (!best.has_value() || isBetter(*facts, bestFacts))) {
            best = name;
            bestFacts = *facts;
        }
    }
    return best;
}

/// If the run has left the course of its best checkpoint, makes another the best, or none. Returns
/// a sentence about it, or "".
Result<std::string> followBest(const CheckpointDirectory& directory, const Course& course) {
    const Result<CheckpointInfo> facts = directory.bestFacts();
    if (absl::IsNotFound(facts.status()) || absl::IsDataLoss(facts.status()) ||
        (facts.ok() && course.contains(facts->attempt, facts->step))) {
        return std::string();
    }
    RETURN_IF_ERROR(facts.status());
    ASSIGN_OR_RETURN(const std::optional<CheckpointName> next, bestOnCourse(directory, course));
    RETURN_IF_ERROR(directory.replaceBest(*facts, kVoid, next));
    return strCat(checkpoint::kBestName, " was of step ", facts->step,
                  ", whose course the run has left; ",
                  next.has_value() ? strCat("it is now that of step ", next->step)
                                   : std::string("no checkpoint that is left was evaluated"));
}

/// Removes the scores of models that the run has left behind.
void dropOtherScores(const std::string& directory, const Course& course) {
    scores::dropScores(directory, [&](std::int64_t attempt, std::int64_t step) {
        return course.contains(attempt, step);
    });
}

// One scan of a directory.
class CheckpointScanner {
 public:
    CheckpointScanner(runs::RunStore& store, const CheckpointScanRequest& order,
                      const checkpoint::ReadWatch& watch, const std::string& runsDir)
        : store_(store), order_(order), watch_(watch), place_(runsDir, order.runId) {}

    CheckpointScan look() {
        const Status status = read();
        scan_.status = status.ok() ? checkChoice() : asUnreadable(status);
        return std::move(scan_);
    }

 private:
    // The result of reading a file.
    enum class Finding { kWhole, kUnfit, kGone };

    Status read() {
        ASSIGN_OR_RETURN(course_, Course::read(store_, place_, order_.runId));
        ASSIGN_OR_RETURN(directory_, openIfThere(place_.checkpointsPath()));
        std::vector<CheckpointName> names;
        if (directory_.has_value()) {
            RETURN_IF_ERROR(directory_->removeLeftovers());
            ASSIGN_OR_RETURN(names, directory_->list());
        }
        files_ = names;
        had_ = hadCheckpoints();
        RETURN_IF_ERROR(findBegun());
        RETURN_IF_ERROR(leaveBehind());
        RETURN_IF_ERROR(choose());
        noteGone(names);
        if (!found_.empty() || !gone_.empty()) {
            RETURN_IF_ERROR(store_.reconcileCheckpoints(order_.runId, found_, gone_));
        }
        return okStatus();
    }

    // An error of the scan is not about the checkpoints: the run keeps all that it has.
    Status asUnreadable(const Status& status) const {
        if (mayPass(status)) {
            return annotate(status, "its checkpoints cannot be read");
        }
        const std::string sentence = strCat("its checkpoints cannot be read: ", messageOf(status),
                                            "; nothing was cut, and `millrace resume ",
                                            order_.runId, "` goes on once they can be");
        return {status.code(), sentence};
    }

    bool hadCheckpoints() const {
        return std::any_of(course_.records.begin(), course_.records.end(),
                           [&](const auto& r) { return course_.leadsOn(r.attempt, r.step); }) ||
               std::any_of(files_.begin(), files_.end(), [&](const CheckpointName& f) {
                   return course_.leadsOn(f.attempt, f.step);
               });
    }

    // An attempt without any line has begun nevertheless if one of its checkpoints is whole.
    Status findBegun() {
        for (runs::AttemptRecord& attempt : course_.attempts) {
            for (const CheckpointName& file : files_) {
                if (attempt.hasBegun || file.attempt != attempt.attempt) {
                    continue;
                }
                ASSIGN_OR_RETURN(const Finding finding, inspect(file));
                attempt.hasBegun = finding == Finding::kWhole;
            }
        }
        return okStatus();
    }

    Status leaveBehind() {
        for (const CheckpointName& file : files_) {
            if (!course_.leadsOn(file.attempt, file.step) && !isAside(file)) {
                const bool isLeft = !course_.contains(file.attempt, file.step);
                RETURN_IF_ERROR(setAside(
                    file, kVoid,
                    isLeft ? "the run has left its course" : "not all ranks had ended its step"));
            }
        }
        std::erase_if(files_, [&](const CheckpointName& file) {
            return !course_.leadsOn(file.attempt, file.step);
        });
        dropOtherScores(place_.checkpointsPath(), course_);
        if (directory_.has_value()) {
            ASSIGN_OR_RETURN(std::string event, followBest(*directory_, course_));
            if (!event.empty()) {
                note(std::move(event));
            }
        }
        return okStatus();
    }

    // Chooses the newest whole checkpoint, or that of the wanted step. Registers older ones that
    // the store does not know, up to the number to keep.
    Status choose() {
        std::int64_t numKept = 0, lastStep = -1;
        for (const CheckpointName& file : files_) {
            const bool isWanted =
                order_.fromStep == values::kFromLast || file.step == order_.fromStep;
            const bool isTwin = file.step == lastStep;  // of an attempt that resumed from it
            if (!isWanted || isTwin || isAside(file) || numKept >= order_.keep) {
                continue;
            }
            if (scan_.chosen.has_value() && course_.isLive(file)) {
                ++numKept;  // it is read when it is needed
                continue;
            }
            ASSIGN_OR_RETURN(const Finding finding, inspect(file));
            if (finding == Finding::kWhole) {
                ++numKept;
                lastStep = file.step;
                take(file);
            }
        }
        return okStatus();
    }

    void take(const CheckpointName& file) {
        const CheckpointRecord record = recordOf(file, facts_.at(file.text()));
        if (!scan_.chosen.has_value()) {
            scan_.chosen = record;
            scan_.path = directory_->pathOf(file);
        }
        const CheckpointRecord* known = course_.find(file);
        if (known != nullptr && known->isWaiting && !known->isDeleted) {
            found_.push_back(record);  // it waited for reports that no rank can send any more
        } else if (!course_.isLive(file)) {
            found_.push_back(record);
            note(strCat("checkpoint ", record.name, " was found in its directory"));
        }
    }

    // Reads a file once; sets a damaged or foreign one aside. An error: it cannot be read.
    Result<Finding> inspect(const CheckpointName& file) {
        const std::string name = file.text();
        if (facts_.contains(name)) {
            return Finding::kWhole;
        }
        Result<CheckpointInfo> facts = directory_->verify(file, watch_);
        if (absl::IsNotFound(facts.status())) {
            return Finding::kGone;
        }
        if (absl::IsDataLoss(facts.status())) {
            RETURN_IF_ERROR(setAside(file, kDamaged, std::string(messageOf(facts.status()))));
            return Finding::kUnfit;
        }
        RETURN_IF_ERROR(facts.status());
        if (const std::string why = whyForeign(*facts); !why.empty()) {
            RETURN_IF_ERROR(setAside(file, kForeign, why));
            return Finding::kUnfit;
        }
        facts_[name] = *std::move(facts);
        return Finding::kWhole;
    }

    std::string whyForeign(const CheckpointInfo& facts) const {
        if (facts.run != order_.runId) {
            return strCat("it belongs to run '", facts.run, "'");
        }
        const bool isOther = !order_.streamHash.empty() && facts.streamHash != order_.streamHash;
        return isOther ? strCat("it is of another stream (", facts.streamHash, ")") : "";
    }

    Status setAside(const CheckpointName& name, std::string_view suffix, const std::string& why) {
        ASSIGN_OR_RETURN(const std::string to, directory_->setAside(name, suffix));
        unfit_ += strCat(unfit_.empty() ? "" : "; ", why);
        note(strCat("checkpoint ", name.text(), " was set aside as ", to, ": ", why));
        gone_.push_back(name.text());
        return okStatus();
    }

    bool isAside(const CheckpointName& name) const {
        return std::find(gone_.begin(), gone_.end(), name.text()) != gone_.end();
    }

    void noteGone(const std::vector<CheckpointName>& names) {
        for (const CheckpointRecord& record : course_.records) {
            const auto name = CheckpointName::parse(record.name);
            const bool isThere =
                name.has_value() && std::find(names.begin(), names.end(), *name) != names.end();
            if (!record.isDeleted && !isThere) {
                gone_.push_back(record.name);
                unfit_ += strCat(unfit_.empty() ? "" : "; ", record.name, " is not there");
                note(strCat("checkpoint ", record.name, " is not there any more"));
            }
        }
    }

    Status checkChoice() const {
        if (scan_.chosen.has_value() || order_.fromStep == values::kFromStart) {
            return okStatus();
        }
        const std::string why = unfit_.empty() ? "" : strCat(" (", unfit_, ")");
        if (order_.fromStep > 0) {
            return notFound("no checkpoint of step ", order_.fromStep, " to continue from", why);
        }
        if (had_) {
            return failedPrecondition("no checkpoint is left to continue from", why,
                                      "; `millrace resume ", order_.runId,
                                      " --from-start` begins again at step 0");
        }
        return okStatus();
    }

    void note(std::string event) { scan_.events.push_back(std::move(event)); }

    runs::RunStore& store_;
    const CheckpointScanRequest& order_;
    const checkpoint::ReadWatch& watch_;
    const RunDirectory place_;
    Course course_;
    std::optional<CheckpointDirectory> directory_;
    std::vector<CheckpointName> files_;  // newest first
    std::map<std::string, CheckpointInfo> facts_;
    std::vector<CheckpointRecord> found_;
    std::vector<std::string> gone_;
    std::string unfit_;
    bool had_ = false;
    CheckpointScan scan_;
};

// Returns how many of the store's checkpoints make `file` superfluous.
std::int64_t numNewer(const Course& course, const CheckpointName& file, std::int64_t keep) {
    std::int64_t newer = 0;
    for (const CheckpointRecord& record : course.records) {
        if (record.isDeleted || !course.isSettled(record.attempt, record.step)) {
            continue;
        }
        const bool replaces = record.step == file.step && record.attempt > file.attempt;
        newer += replaces ? keep : (record.step > file.step ? 1 : 0);
    }
    return newer;
}

// Checkpoints wait while a rank is far behind the rank that writes them. Beyond `most`, the
// checkpoint with the closest neighbours is superfluous, so that the rest stay spread over the
// steps. The first, which counts next, and the newest stay.
std::vector<CheckpointName> superfluousWaiting(const Course& course, std::size_t most) {
    std::vector<CheckpointName> waiting;  // newest first, like the records
    for (const CheckpointRecord& record : course.records) {
        const auto name = CheckpointName::parse(record.name);
        if (!record.isDeleted && name.has_value() &&
            !course.isSettled(record.attempt, record.step)) {
            waiting.push_back(*name);
        }
    }
    std::vector<CheckpointName> superfluous;
    while (waiting.size() > std::max<std::size_t>(most, 2)) {
        const auto gap = [&](std::size_t i) { return waiting[i - 1].step - waiting[i + 1].step; };
        std::size_t least = 1;
        for (std::size_t i = 2; i + 1 < waiting.size(); ++i) {
            least = gap(i) < gap(least) ? i : least;
        }
        superfluous.push_back(waiting[least]);
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(least));
    }
    return superfluous;
}

}  // namespace

CheckpointScan CheckpointCatalogue::scan(const CheckpointScanRequest& order,
                                         const checkpoint::ReadWatch& watch) const {
    return CheckpointScanner(store_, order, watch, runsDir_).look();
}

Status CheckpointCatalogue::add(const std::string& runId, const CheckpointInfo& facts) const {
    const RunDirectory place(runsDir_, runId);
    const CheckpointName name{facts.step, static_cast<int>(facts.attempt)};
    if (facts.run != runId) {
        return invalidArgument("checkpoint ", name.text(), " belongs to run '", facts.run,
                               "', not to ", runId);
    }
    RETURN_IF_ERROR(store_.addCheckpoint(runId, recordOf(name, facts)));
    if (!facts.judgement.has_value() || !facts.judgement->wasBest) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const auto directory, CheckpointDirectory::open(place.checkpointsPath()));
    return directory.linkAsBest(name);
}

Status CheckpointCatalogue::retain(const std::string& runId, std::int64_t wanted) const {
    const std::int64_t keep = std::max<std::int64_t>(wanted, 1);
    const RunDirectory place(runsDir_, runId);
    ASSIGN_OR_RETURN(const Course course, Course::read(store_, place, runId));
    ASSIGN_OR_RETURN(const auto directory, openIfThere(place.checkpointsPath()));
    if (!directory.has_value()) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<CheckpointName> names, directory->list());
    std::vector<std::string> removed;
    for (const CheckpointName& name : names) {
        if (numNewer(course, name, keep) >= keep) {
            RETURN_IF_ERROR(directory->remove(name));
            removed.push_back(name.text());
        }
    }
    constexpr std::int64_t kWaitingMore = 2;
    for (const CheckpointName& name :
         superfluousWaiting(course, static_cast<std::size_t>(keep + kWaitingMore))) {
        RETURN_IF_ERROR(directory->remove(name));
        removed.push_back(name.text());
    }
    // Files that are gone already: a daemon may have ended after their removal, before the store
    // had it.
    for (const CheckpointRecord& record : course.records) {
        const auto name = CheckpointName::parse(record.name);
        const bool isThere =
            name.has_value() && std::find(names.begin(), names.end(), *name) != names.end();
        if (!record.isDeleted && !isThere &&
            (!name.has_value() || numNewer(course, *name, keep) >= keep)) {
            removed.push_back(record.name);
        }
    }
    return removed.empty() ? okStatus() : store_.reconcileCheckpoints(runId, {}, removed);
}

std::vector<std::string> CheckpointCatalogue::setVoidAside(const std::string& runId) const {
    std::vector<std::string> events;
    const auto setAside = [&]() -> Status {
        const RunDirectory place(runsDir_, runId);
        ASSIGN_OR_RETURN(const Course course, Course::read(store_, place, runId));
        dropOtherScores(place.checkpointsPath(), course);
        ASSIGN_OR_RETURN(const auto directory, openIfThere(place.checkpointsPath()));
        if (!directory.has_value()) {
            return okStatus();
        }
        ASSIGN_OR_RETURN(const std::vector<CheckpointName> names, directory->list());
        for (const CheckpointName& name : names) {
            if (!course.contains(name.attempt, name.step)) {
                ASSIGN_OR_RETURN(const std::string to, directory->setAside(name, kVoid));
                events.push_back(strCat("checkpoint ", name.text(), " was set aside as ", to,
                                        ": the run has left its course"));
            }
        }
        ASSIGN_OR_RETURN(std::string event, followBest(*directory, course));
        if (!event.empty()) {
            events.push_back(std::move(event));
        }
        return okStatus();
    };
    if (const Status status = setAside(); !status.ok()) {
        // The next attempt's scan sets the rest aside.
        logWarn("checkpoints: not set aside", {{"run", runId}, {"why", messageOf(status)}});
    }
    return events;
}

Result<std::vector<std::int64_t>> CheckpointCatalogue::steps(const std::string& runId) const {
    const RunDirectory place(runsDir_, runId);
    ASSIGN_OR_RETURN(const Course course, Course::read(store_, place, runId));
    ASSIGN_OR_RETURN(const auto directory, openIfThere(place.checkpointsPath()));
    std::vector<std::int64_t> steps;
    if (directory.has_value()) {
        ASSIGN_OR_RETURN(const std::vector<CheckpointName> names, directory->list());
        for (const CheckpointName& name : names) {
            if (course.leadsOn(name.attempt, name.step)) {
                steps.push_back(name.step);
            }
        }
    }
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    return steps;
}

Status CheckpointCatalogue::checkResume(const runs::RunRecord& run, std::int64_t step) const {
    if (!values::isEnded(run.state)) {
        return failedPrecondition("run ", run.id, " is ", values::nameOf(run.state),
                                  "; only a run that has ended can be resumed");
    }
    if (step < values::kFromStart) {
        return invalidArgument("--step ", step, ": the step of a checkpoint is wanted");
    }
    if (run.state == values::RunState::kFinished && step == values::kFromLast) {
        return failedPrecondition("run ", run.id,
                                  " is finished; --step N repeats it from a checkpoint");
    }
    if (run.isDeleted()) {
        return failedPrecondition("run ", run.id, " is deleted; restore it first");
    }
    if (step == values::kFromStart || (step == values::kFromLast && run.attempt == 0)) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<std::int64_t> all, steps(run.id));
    if (step == values::kFromLast) {
        return !all.empty() ? okStatus()
                            : failedPrecondition("run ", run.id, " has no checkpoint: it would ",
                                                 "begin again at step 0, instead of what it has ",
                                                 "reported; --from-start does that");
    }
    std::string others;
    for (const std::int64_t other : all) {
        if (other == step) {
            return okStatus();
        }
        strAppend(&others, others.empty() ? "; it has " : ", ", other);
    }
    return notFound("run ", run.id, " has no checkpoint of step ", step, others);
}

}  // namespace millrace::agent

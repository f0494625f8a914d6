#include "daemon/agent/run_service.h"

#include <algorithm>
#include <set>

#include <absl/strings/str_join.h>

#include "backend/core/clock.h"
#include "backend/core/log.h"
#include "backend/runs/params.h"
#include "backend/search/run_filter.h"
#include "backend/text/json_slices.h"
#include "backend/text/text.h"
#include "daemon/agent/crew/gang.h"
#include "daemon/agent/inspection.h"
#include "daemon/agent/rank_change.h"

namespace millrace::agent {
namespace {

constexpr std::size_t kMostNoteBytes = 64 << 10;
constexpr std::size_t kMostTagBytes = 8 << 10;
constexpr std::size_t kMostTags = 200;
constexpr std::size_t kMostShortBytes = 250;
constexpr int kDefaultPoints = 2'000, kFewestPoints = 4, kMostPoints = 200'000;  // of a series

Status checkShort(std::string_view what, const std::string& text) {
    if (text.size() > kMostShortBytes) {
        return invalidArgument(what, ": has ", text.size(), " bytes; at most ", kMostShortBytes);
    }
    return okStatus();
}

Status checkNote(const std::string& note) {
    if (note.size() > kMostNoteBytes) {
        return invalidArgument("note: has ", formatCount(static_cast<std::int64_t>(note.size())),
                               " bytes; at most ", formatCount(kMostNoteBytes));
    }
    return okStatus();
}

Status checkTags(const std::map<std::string, std::string>& tags) {
    if (tags.size() > kMostTags) {
        return invalidArgument("tags: ", tags.size(), " of them; at most ", kMostTags);
    }
    for (const auto& [key, value] : tags) {
        if (key.empty() || key.size() > kMostShortBytes || value.size() > kMostTagBytes) {
            return invalidArgument("tag '", key.substr(0, kMostShortBytes), "': a key has 1 to ",
                                   kMostShortBytes, " bytes and a value at most ", kMostTagBytes);
        }
    }
    return okStatus();
}

std::string firstOf(const std::string& a, const std::string& b) {
    return a.empty() ? b : a;
}

// Path of the file that the spec's text was read from; "" if there was none.
std::string specPathOf(const values::SubmitRequest& request) {
    const std::string& name = request.fileName;
    return name.empty() ? "" : strCat(request.baseDir, "/", name.substr(name.rfind('/') + 1));
}

values::SpecError shownError(const spec::SpecError& error, const std::string& fileName) {
    return {error.message,
            error.code,
            fileName,
            error.path,
            std::max(error.line, 0),
            std::max(error.column, 0)};
}

values::Checkpoint shownCheckpoint(const runs::CheckpointRecord& record,
                                   const RunDirectory& directory) {
    return {record.step,
            record.timeMs,
            strCat(directory.checkpointsPath(), "/", record.name),
            record.hash,
            static_cast<std::uint64_t>(record.bytes),
            record.attempt,
            record.epoch};
}

// Returns the weights hash that rank 0 sent with `done`: it is in the receipt, or among the params.
std::string weightsHashOf(const values::RunDetail& detail) {
    if (detail.receipt) {
        // The receipt of many files is large: only the member is read.
        const auto text = jsonMemberText(detail.receipt->json, "weights_hash");
        const Result<Json> hash = parseJson(text.value_or("null"), "weights_hash");
        if (hash.ok() && hash->is_string()) {
            return hash->get<std::string>();
        }
    }
    for (const char* key : {"weights_hash", "done.weights_hash"}) {
        const auto found = detail.params.find(key);
        if (found != detail.params.end()) {
            return found->second;
        }
    }
    return "";
}

// Returns what a run's submit contained and no column of the store has. It stays with the run when
// its files are purged: without it nothing could repeat the run.
std::string submittedText(const values::SubmitRequest& request) {
    return dumpJson({{"file_name", request.fileName},
                     {"git_branch", request.git.branch},
                     {"git_remote", request.git.remote},
                     {"sets", request.sets},
                     {"submitter", request.owner}});
}

void addSubmitted(const std::string& text, values::RunDetail& detail) {
    const Json json = parseJson(text, "submitted").value_or(Json::object());
    detail.specFileName = jsonString(json, "file_name");
    detail.git.branch = jsonString(json, "git_branch");
    detail.git.remote = jsonString(json, "git_remote");
    for (const Json& set : jsonMember(json, "sets")) {
        detail.sets.push_back(set.is_string() ? set.get<std::string>() : "");
    }
}

runs::MetricRange rangeOf(const values::MetricRangeRequest& request) {
    runs::MetricRange range;
    range.fromStep = request.fromStep;
    range.toStep = request.toStep > 0 ? request.toStep : INT64_MAX;
    range.maxPoints = request.maxPoints == 0
                          ? kDefaultPoints
                          : std::clamp(request.maxPoints, kFewestPoints, kMostPoints);
    range.rank = request.rank;
    return range;
}

}  // namespace

std::string submitKeyOf(const std::string& key, const std::string& variation) {
    return key.empty() ? "" : (variation.empty() ? key : strCat(key, "#", variation));
}

Status RunService::checkRequest(const values::SubmitRequest& request) {
    RETURN_IF_ERROR(checkShort("key", request.key));
    RETURN_IF_ERROR(checkShort("owner", request.owner));
    RETURN_IF_ERROR(checkShort("project", request.project));
    RETURN_IF_ERROR(checkNote(request.note));
    return checkTags(request.tags);
}

// Returns the runs of this key if it was used for exactly this submit.
Result<values::SubmitReply> RunService::findKnown(
    const values::SubmitRequest& request, const std::vector<std::string>& variations) const {
    values::SubmitReply reply;
    if (request.key.empty()) {
        return reply;
    }
    const std::string anyKey =
        submitKeyOf(request.key, variations.empty() ? "" : variations.front());
    ASSIGN_OR_RETURN(runs::RunStore::Group group, store_.findGroup(anyKey));
    if (group.runs.empty()) {
        return reply;
    }
    if (group.specText != request.specText) {
        return alreadyExists("key '", request.key, "' was used for another spec (run ",
                             group.runs.front().id, ")");
    }
    values::RunDetail known;
    addSubmitted(group.submitted, known);
    if (known.sets != request.sets) {
        return alreadyExists(
            "key '", request.key, "' was used with ",
            known.sets.empty() ? "no --set" : strCat("--set ", absl::StrJoin(known.sets, " ")),
            " (run ", group.runs.front().id, "); use a new key for other changes");
    }
    for (values::RunSummary& run : group.runs) {
        const values::RunLive live = live_.get(run.id);
        reply.runs.push_back(shownRun(std::move(run), live));
    }
    reply.wasKnown = true;
    return reply;
}

Result<runs::RunRecord> RunService::recordOf(const values::SubmitRequest& request,
                                             const InspectedRun& inspected,
                                             const spec::RunSpec& spec) const {
    runs::RunRecord run;
    run.name = firstOf(inspected.name, spec.name);
    run.owner = firstOf(spec.owner, request.owner);  // a client always names its user
    run.project = firstOf(request.project, spec.project);
    run.note = firstOf(request.note, spec.notes);
    run.tags = {spec.tags.begin(), spec.tags.end()};
    for (const auto& [key, value] : request.tags) {
        run.tags[key] = value;
    }
    run.variation = inspected.variation;
    run.specText = request.specText;
    run.resolvedSpec = dumpJson(inspected.spec);
    run.specHash = inspected.specHash;
    run.streamHash = inspected.streamHash;
    run.plan = inspected.plan;
    run.planFacts = dumpJson(inspected.planFacts);
    run.planHash = inspected.planHash;
    run.baseDir = request.baseDir;
    run.submitted = submittedText(request);
    run.submitKey = submitKeyOf(request.key, inspected.variation);
    run.gitCommit = request.git.commit;
    run.isGitDirty = request.git.isDirty;
    run.host = options_.host;
    run.hardware = options_.hardware;
    run.packages = request.packages;
    run.packages.try_emplace("millrace", options_.version);
    run.model = spec.model.type();
    run.dataset = absl::StrJoin(spec.dataset.path, ", ");
    run.seed = spec.batch.seed;
    if (isScript(spec)) {
        values::LaunchPlace place = request.place;
        place.specPath = specPathOf(request);
        run.launch = launchText(place);
    }
    run.params = runs::flattenParams(inspected.spec);
    RETURN_IF_ERROR(checkShort("owner", run.owner));
    RETURN_IF_ERROR(checkTags(run.tags));
    return run;
}

Status RunService::checkTrainer() const {
    return options_.noTrainer.empty() ? okStatus() : failedPrecondition(options_.noTrainer);
}

// Checks that the run that a new one takes its weights from exists; an active run may still write
// its first checkpoint.
Status RunService::checkInitFrom(const spec::TrainSpec& train) const {
    if (train.initFrom.empty()) {
        return okStatus();
    }
    const Result<std::string> id = store_.findId(train.initFrom);
    if (!id.ok()) {
        return annotate(id.status(), "train.init_from");
    }
    ASSIGN_OR_RETURN(const runs::RunRecord run, store_.get(*id));
    ASSIGN_OR_RETURN(const auto checkpoints, store_.checkpoints(*id));
    const Result<SharedSpec> spec = train.initBest ? readSpec(run.resolvedSpec) : SharedSpec();
    if (train.initBest && !(spec.ok() && (*spec)->train.earlyStop.patience > 0)) {
        return failedPrecondition("train.init_from: run ", *id,
                                  " keeps no best checkpoint, as its "
                                  "spec has no train.early_stop; leave `best` out for its newest");
    }
    return checkpoints.empty() && values::isEnded(run.state)
               ? failedPrecondition("train.init_from: run ", *id, " has no checkpoint")
               : okStatus();
}

Result<values::SubmitReply> RunService::submit(const values::SubmitRequest& request,
                                               const IsUnwanted& isUnwanted,
                                               const std::string& certificate) {
    const InspectRequest question = inspectRequestOf(request);
    RETURN_IF_ERROR(checkSpecText(question, options_.maxSpecBytes));
    RETURN_IF_ERROR(checkRequest(request));
    ASSIGN_OR_RETURN(values::SubmitReply reply, findKnown(request, question.variations));
    if (reply.wasKnown) {
        return reply;
    }
    ASSIGN_OR_RETURN(const InspectReply inspected, inspector_.resolve(question, isUnwanted));
    for (const spec::SpecError& error : inspected.errors) {
        reply.errors.push_back(shownError(error, question.fileName));
    }
    const auto refuse = [&](const Status& status, const char* path) {
        if (!status.ok() && reply.errors.empty()) {
            reply.errors.push_back(
                {std::string(messageOf(status)), "check", question.fileName, path});
        }
    };
    std::vector<SharedSpec> specs;
    for (const InspectedRun& run : inspected.runs) {
        ASSIGN_OR_RETURN(spec::RunSpec spec, spec::RunSpec::fromJson(run.spec));
        refuse(isScript(spec) ? okStatus() : checkTrainer(), "model");
        refuse(checkInitFrom(spec.train), "train.init_from");
        specs.push_back(std::make_shared<const spec::RunSpec>(std::move(spec)));
    }
    std::set<std::string> warnings(inspected.warnings.begin(), inspected.warnings.end());
    std::vector<runs::RunRecord> records;
    for (std::size_t i = 0; reply.errors.empty() && i < specs.size(); ++i) {
        const InspectedRun& run = inspected.runs[i];
        ASSIGN_OR_RETURN(runs::RunRecord record, recordOf(request, run, *specs[i]));
        record.owner = firstOf(certificate, record.owner);
        records.push_back(std::move(record));
        warnings.insert(run.warnings.begin(), run.warnings.end());
    }
    for (const std::string& warning : warnings) {
        reply.warnings.emplace_back().message = warning;
    }
    if (!reply.errors.empty()) {
        return reply;
    }
    ASSIGN_OR_RETURN(std::vector<runs::RunStore::Created> group,
                     store_.createGroup(std::move(records)));
    takeOver(request.git.diff, std::move(group), specs, inspected.runs, reply);
    return reply;
}

// The runs are stored and queued: nothing from here on can fail the submit.
void RunService::takeOver(const std::string& diff, std::vector<runs::RunStore::Created> group,
                          const std::vector<SharedSpec>& specs,
                          const std::vector<InspectedRun>& inspected, values::SubmitReply& reply) {
    reply.wasKnown = true;
    std::map<std::string, SharedSpec> queued;
    for (std::size_t i = 0; i < group.size(); ++i) {
        runs::RunStore::Created& created = group[i];
        const runs::RunRecord& run = created.run;
        if (created.isNew) {
            queued[run.id] = specs[i];
            reply.wasKnown = false;
            const RunDirectory directory = directoryOf(run.id);
            const Status written = diff.empty() ? directory.create() : directory.writeDiff(diff);
            for (const std::string& warning : inspected[i].warnings) {
                directory.addEvent({run.createdMs, strCat("warning: ", warning)});
            }
            logInfo("run: submitted", {{"run", run.id},
                                       {"name", run.name},
                                       {"variation", run.variation},
                                       {"directory", written.ok() ? "made" : messageOf(written)}});
        }
        reply.runs.push_back(shownRun(std::move(created.run), {}));
        reply.runs.back().params.clear();
    }
    controller_.queueChanged(std::move(queued));
}

Result<values::RunPage> RunService::list(const values::ListRequest& request) const {
    constexpr std::int64_t kDefault = 100, kMost = 1000;
    runs::RunQuery query;
    query.filter = request.filter;
    query.orderBy = request.orderBy;
    query.pageSize =
        static_cast<int>(request.pageSize <= 0 ? kDefault : std::min(request.pageSize, kMost));
    query.pageToken = request.pageToken;
    query.view = request.view;
    query.changedSince =
        request.changesSince == 0 ? -1 : static_cast<std::int64_t>(request.changesSince);
    query.withParams = request.withParams;
    query.withSystemMetrics = request.withSystemMetrics;
    ASSIGN_OR_RETURN(values::RunPage page, store_.list(query));
    for (values::RunSummary& run : page.runs) {
        const values::RunLive live = live_.get(run.id);
        run = shownRun(std::move(run), live);
    }
    return page;
}

Result<values::RunSummary> RunService::viewOf(const std::string& id) const {
    ASSIGN_OR_RETURN(values::RunSummary run, readSummary(store_, id));
    return shownRun(std::move(run), live_.get(id));
}

Result<RunService::Owned> RunService::ownerOf(const std::string& run) const {
    ASSIGN_OR_RETURN(const std::string id, store_.findId(run));
    ASSIGN_OR_RETURN(const values::RunSummary summary, readSummary(store_, id));
    return Owned{id, summary.owner};
}

Result<values::RunDetail> RunService::get(const std::string& run) const {
    ASSIGN_OR_RETURN(const std::string id, store_.findId(run));
    ASSIGN_OR_RETURN(runs::RunRecord record, store_.get(id));
    values::RunLive live = live_.get(id);
    values::RunDetail detail;
    const Json facts = parseJson(record.planFacts, "facts of the plan").value_or(Json());
    detail.planFiles = jsonInt(facts, "files");
    detail.planSplits = jsonInt(facts, "splits");
    detail.planRows = jsonInt(facts, "rows");
    detail.planBytes = jsonInt(facts, "bytes");
    detail.specText = std::move(record.specText);
    detail.resolvedSpec = std::move(record.resolvedSpec);
    detail.hardware = std::move(record.hardware);
    const std::string launch = std::move(record.launch);
    const std::string submitted = std::move(record.submitted);
    detail.packages = std::move(record.packages);
    detail.params = std::move(record.params);
    detail.git.commit = record.gitCommit;
    detail.git.isDirty = record.isGitDirty;
    detail.summary = shownRun(std::move(record), live);
    detail.summary.params.clear();
    std::erase_if(detail.summary.latestMetrics,
                  [](const auto& metric) { return values::isSystemMetric(metric.name); });
    detail.workers = std::move(live.workers);
    if (!values::isEnded(detail.summary.state)) {
        detail.traffic = std::move(live.traffic);
    }
    ASSIGN_OR_RETURN(const std::string receipt,
                     store_.document(id, values::LargeDocument::kReceipt));
    if (!receipt.empty()) {
        detail.receipt = shownReceipt(receipt, kReceiptFilesShown).value_or(values::Receipt{});
    }
    detail.weightsHash = weightsHashOf(detail);
    ASSIGN_OR_RETURN(detail.metricNames, store_.metricKeys(id));
    const RunDirectory directory = directoryOf(id);
    ASSIGN_OR_RETURN(const auto checkpoints, store_.checkpoints(id));
    for (auto it = checkpoints.rbegin(); it != checkpoints.rend(); ++it) {
        detail.checkpoints.push_back(shownCheckpoint(*it, directory));
    }
    detail.events = directory.readEvents();
    addSubmitted(submitted, detail);
    detail.directory = directory.path();
    addScript(launch, directory, detail);
    return detail;
}

void RunService::addScript(const std::string& launch, const RunDirectory& directory,
                           values::RunDetail& detail) {
    if (launch.empty()) {
        return;
    }
    values::ScriptInfo& script = detail.script;
    script.place = launchOf(launch).value_or(values::LaunchPlace());
    const Json said = directory.readScript(detail.summary.attempt);
    script.path = jsonString(said, "path");
    script.sha256 = jsonString(said, "sha256");
    script.interpreter = jsonString(said, "interpreter");
    script.python = jsonString(said, "python");
    script.diffPath = directory.diffPath();
}

Result<RunService::Document> RunService::document(const std::string& run,
                                                  values::LargeDocument which,
                                                  std::int64_t offset) const {
    Document document;
    ASSIGN_OR_RETURN(document.runId, store_.findId(run));
    ASSIGN_OR_RETURN(document.page,
                     store_.documentPage(document.runId, which, offset, kDocumentPageBytes));
    return document;
}

Result<values::RunSummary> RunService::change(
    const std::string& run, const std::function<Status(const std::string& id)>& what) {
    ASSIGN_OR_RETURN(const std::string id, store_.findId(run));
    RETURN_IF_ERROR(what(id));
    live_.touch();
    return viewOf(id);
}

Result<values::RunSummary> RunService::stop(const std::string& run, const std::string& reason,
                                            std::chrono::milliseconds grace) {
    return change(run, [&](const std::string& id) {
        return controller_.stop(id, reason.empty() ? "stopped on request" : reason, grace);
    });
}

Result<values::RunSummary> RunService::resume(const std::string& run, std::int64_t step,
                                              const values::RankCount& wanted) {
    return change(run, [&](const std::string& id) -> Status {
        ASSIGN_OR_RETURN(const runs::RunRecord record, store_.get(id));
        RETURN_IF_ERROR(record.model.empty() ? okStatus() : checkTrainer());
        ASSIGN_OR_RETURN(const auto changed, withRanks(record, wanted));
        RETURN_IF_ERROR(controller_.resume(id, step, changed));
        if (changed.has_value()) {
            directoryOf(id).addEvent({SystemClock().wallMs(), describeChange(record, *changed)});
        }
        return okStatus();
    });
}

Result<values::RemovedRun> RunService::remove(const std::string& run, bool isForGood) {
    values::RemovedRun removed;
    removed.keepHours = static_cast<int>(deleted_.keep().count());
    const auto hide = [&](const std::string& id) -> Status {
        RETURN_IF_ERROR(store_.markDeleted(id));
        if (!isForGood) {
            removed.heldBytes = deleted_.bytesOf(id);
            return okStatus();
        }
        ASSIGN_OR_RETURN(removed.freedBytes, deleted_.purge(id));
        return okStatus();
    };
    ASSIGN_OR_RETURN(removed.run, change(run, hide));
    return removed;
}

Result<values::RunSummary> RunService::restore(const std::string& run) {
    return change(run, [&](const std::string& id) { return store_.restore(id); });
}

Result<values::RunSummary> RunService::setNote(const std::string& run, const std::string& note) {
    RETURN_IF_ERROR(checkNote(note));
    return change(run, [&](const std::string& id) { return store_.setNote(id, note); });
}

Result<values::RunSummary> RunService::setTags(const std::string& run,
                                               const std::map<std::string, std::string>& set,
                                               const std::vector<std::string>& remove) {
    RETURN_IF_ERROR(checkTags(set));
    return change(run, [&](const std::string& id) -> Status {
        for (const auto& [key, value] : set) {
            RETURN_IF_ERROR(store_.setTag(id, key, value));
        }
        for (const std::string& key : remove) {
            RETURN_IF_ERROR(store_.deleteTag(id, key));
        }
        return okStatus();
    });
}

values::FilterCheck RunService::checkFilter(const std::string& filter,
                                            const std::vector<std::string>& orderBy) const {
    const auto parsed = search::parseFilter(filter, SystemClock().wallMs());
    const Status status = parsed.ok() ? search::parseOrderBy(orderBy).status() : parsed.status();
    if (!status.ok()) {
        return {false, std::string(messageOf(status)), search::characterOf(status)};
    }
    return {true, store_.unknownNameIn(*parsed).value_or(""), 0};
}

Result<values::MetricHistory> RunService::metrics(const values::MetricRangeRequest& request) const {
    values::MetricHistory history;
    ASSIGN_OR_RETURN(history.runId, store_.findId(request.run));
    std::vector<std::string> wanted = request.names;
    if (wanted.empty()) {
        ASSIGN_OR_RETURN(wanted, store_.metricKeys(history.runId));
        std::erase_if(wanted, [&](const std::string& name) {
            return !request.withSystem && values::isSystemMetric(name);
        });
    }
    std::sort(wanted.begin(), wanted.end());
    const runs::MetricRange range = rangeOf(request);
    std::vector<runs::MetricRequest> requests;
    requests.reserve(wanted.size());
    for (std::string& name : wanted) {
        requests.push_back({std::move(name), range});
    }
    ASSIGN_OR_RETURN(runs::SeriesAtCursor read, store_.metricsAtCursor(history.runId, requests));
    history.series = std::move(read.series);
    history.cursor = read.cursor;
    return history;
}

Result<RunWatch> RunService::watch(const std::vector<std::string>& runs) const {
    std::vector<std::string> ids;
    for (const std::string& run : runs) {
        ASSIGN_OR_RETURN(std::string id, store_.findId(run));
        ids.push_back(std::move(id));
    }
    return RunWatch(store_, live_, std::move(ids));
}

Result<MetricFollower> RunService::followMetrics(values::MetricsRequest request) const {
    ASSIGN_OR_RETURN(const std::string id, store_.findId(request.run));
    return MetricFollower(store_, id, std::move(request));
}

Result<LogFollower> RunService::followLogs(const values::LogsRequest& request,
                                           std::function<void()> onNews) const {
    ASSIGN_OR_RETURN(const std::string id, store_.findId(request.run));
    LogQuery query;
    query.workers = request.workers;
    query.attempt = request.attempt;
    query.minLevel = request.minLevel;
    query.tailLines = static_cast<std::size_t>(std::max<std::int64_t>(request.tailLines, 0));
    query.cursor = request.cursor;
    query.isFollowing = request.follow;
    return LogFollower::open({store_, live_}, controller_.logs(), id, query, std::move(onNews));
}

}  // namespace millrace::agent

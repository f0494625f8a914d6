#include "daemon/agent/run_service.h"

#include <algorithm>

#include "backend/core/log.h"
#include "backend/core/text.h"
#include "backend/runs/params.h"
#include "backend/runs/run_filter.h"
#include "daemon/agent/inspection.h"
#include "daemon/agent/job.h"

namespace millrace::agent {
namespace {

constexpr std::size_t kMostNoteBytes = 64 << 10;
constexpr std::size_t kMostTagBytes = 8 << 10;
constexpr std::size_t kMostTags = 200;
constexpr std::size_t kMostShortBytes = 250;

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

}  // namespace

std::string submitKeyOf(const std::string& key, const std::string& variation) {
    return key.empty() ? "" : (variation.empty() ? key : strCat(key, "#", variation));
}

Status RunService::checkOrder(const SubmitOrder& order) const {
    RETURN_IF_ERROR(checkSpecText(order.spec, options_.maxSpecBytes));
    RETURN_IF_ERROR(checkShort("key", order.key));
    RETURN_IF_ERROR(checkShort("owner", order.owner));
    RETURN_IF_ERROR(checkShort("project", order.project));
    RETURN_IF_ERROR(checkNote(order.note));
    return checkTags(order.tags);
}

// The runs that this key stands for, when it has been used for exactly this and all of them are
// there. A group that an older version left in part is made whole by submitting it again.
Result<SubmitOutcome> RunService::findKnown(const SubmitOrder& order) const {
    SubmitOutcome outcome;
    if (order.key.empty()) {
        return outcome;
    }
    const std::vector<std::string>& variations = order.spec.variations;
    const std::string anyKey = submitKeyOf(order.key, variations.empty() ? "" : variations.front());
    ASSIGN_OR_RETURN(runs::RunStore::Group group, store_.findGroup(anyKey));
    if (group.runs.empty()) {
        return outcome;
    }
    if (group.specText != order.spec.text) {
        return alreadyExists("key '", order.key, "' was used for another spec (run ",
                             group.runs.front().id, ")");
    }
    if (group.size == 0 || static_cast<int>(group.runs.size()) < group.size) {
        return outcome;
    }
    for (runs::RunRecord& run : group.runs) {
        LiveRun live = live_.get(run.id);
        outcome.runs.push_back({std::move(run), std::move(live)});
    }
    outcome.wasKnown = true;
    return outcome;
}

Result<runs::RunRecord> RunService::recordOf(const SubmitOrder& order,
                                             const InspectedRun& inspected) const {
    runs::RunRecord run;
    const Json& spec = inspected.spec;
    run.name = firstOf(inspected.name, jsonString(spec, "name"));
    run.owner = firstOf(order.owner, jsonString(spec, "owner"));
    run.project = firstOf(order.project, jsonString(spec, "project"));
    run.note = firstOf(order.note, jsonString(spec, "notes"));
    for (const auto& [key, value] : jsonMember(spec, "tags").items()) {
        run.tags[key] = value.is_string() ? value.get<std::string>() : dumpJson(value);
    }
    for (const auto& [key, value] : order.tags) {
        run.tags[key] = value;
    }
    run.variation = inspected.variation;
    run.specText = order.spec.text;
    run.resolvedSpec = dumpJson(spec);
    run.specHash = inspected.specHash;
    run.streamHash = inspected.streamHash;
    run.plan = inspected.plan;
    run.planFacts = dumpJson(inspected.planFacts);
    run.planHash = inspected.planHash;
    run.baseDir = order.spec.baseDir;
    run.submitKey = submitKeyOf(order.key, inspected.variation);
    run.gitCommit = order.gitCommit;
    run.isGitDirty = order.isGitDirty;
    run.host = options_.host;
    run.hardware = options_.hardware;
    run.packages = order.packages;
    run.packages.try_emplace("millrace", options_.version);
    ASSIGN_OR_RETURN(const JobFacts facts, JobFacts::read(run.resolvedSpec));
    run.model = facts.model;
    run.dataset = facts.dataset;
    run.seed = static_cast<std::uint64_t>(jsonInt(jsonMember(spec, "batch"), "seed"));
    ASSIGN_OR_RETURN(run.params, runs::flattenParams(run.resolvedSpec));
    RETURN_IF_ERROR(checkTags(run.tags));
    return run;
}

// Whether the run whose weights a new one starts with is there; a run that goes on may still get
// its first checkpoint.
Status RunService::checkInitFrom(const InspectedRun& inspected) const {
    const std::string name = jsonString(jsonMember(inspected.spec, "train"), "init_from");
    if (name.empty()) {
        return okStatus();
    }
    const Result<std::string> id = store_.findId(name);
    if (!id.ok()) {
        return annotate(id.status(), "train.init_from");
    }
    ASSIGN_OR_RETURN(const runs::RunRecord run, store_.get(*id));
    ASSIGN_OR_RETURN(const auto checkpoints, store_.checkpoints(*id));
    return checkpoints.empty() && runs::isTerminal(run.state)
               ? failedPrecondition("train.init_from: run ", *id, " has no checkpoint")
               : okStatus();
}

Result<SubmitOutcome> RunService::submit(const SubmitOrder& order, const IsUnwanted& isUnwanted) {
    RETURN_IF_ERROR(checkOrder(order));
    ASSIGN_OR_RETURN(SubmitOutcome outcome, findKnown(order));
    if (outcome.wasKnown) {
        return outcome;
    }
    ASSIGN_OR_RETURN(const InspectReply reply, inspector_.resolve(order.spec, isUnwanted));
    outcome.errors = reply.errors;
    for (const InspectedRun& inspected : reply.runs) {
        const Status init = checkInitFrom(inspected);
        if (!init.ok() && outcome.errors.empty()) {
            outcome.errors.push_back(
                {0, 0, std::string(messageOf(init)), "train.init_from", "check"});
        }
    }
    if (!outcome.errors.empty()) {
        return outcome;
    }
    std::vector<runs::RunRecord> records;
    for (const InspectedRun& inspected : reply.runs) {
        ASSIGN_OR_RETURN(runs::RunRecord run, recordOf(order, inspected));
        records.push_back(std::move(run));
        outcome.warnings.insert(outcome.warnings.end(), inspected.warnings.begin(),
                                inspected.warnings.end());
    }
    std::sort(outcome.warnings.begin(), outcome.warnings.end());
    outcome.warnings.erase(std::unique(outcome.warnings.begin(), outcome.warnings.end()),
                           outcome.warnings.end());
    ASSIGN_OR_RETURN(std::vector<runs::RunStore::Created> group,
                     store_.createGroup(std::move(records)));
    takeOver(order, std::move(group), outcome);
    return outcome;
}

// The runs are stored and in the queue: nothing from here on can fail the submit.
void RunService::takeOver(const SubmitOrder& order, std::vector<runs::RunStore::Created> group,
                          SubmitOutcome& outcome) {
    const SubmitFacts facts{order.spec.fileName, order.gitBranch, order.gitRemote,
                            order.spec.sets};
    outcome.wasKnown = true;
    for (runs::RunStore::Created& created : group) {
        const runs::RunRecord& run = created.run;
        if (created.isNew) {
            outcome.wasKnown = false;
            const Status written = directoryOf(run.id).writeSubmitFacts(facts);
            logInfo("run: submitted", {{"run", run.id},
                                       {"name", run.name},
                                       {"variation", run.variation},
                                       {"facts", written.ok() ? "kept" : messageOf(written)}});
        }
        outcome.runs.push_back({std::move(created.run), {}});
    }
    controller_.queueChanged();
}

Result<RunPageView> RunService::list(const runs::RunQuery& query) const {
    ASSIGN_OR_RETURN(runs::RunPage page, store_.list(query));
    RunPageView view;
    for (runs::RunRecord& run : page.runs) {
        LiveRun live = live_.get(run.id);
        view.runs.push_back({std::move(run), std::move(live)});
    }
    view.nextPageToken = page.nextPageToken;
    view.changeCursor = page.changeCursor;
    view.total = page.total;
    return view;
}

Result<RunView> RunService::viewOf(const std::string& id) const {
    ASSIGN_OR_RETURN(runs::RunRecord run, readSummary(store_, id));
    return RunView{std::move(run), live_.get(id)};
}

Result<RunDetails> RunService::get(const std::string& run) const {
    ASSIGN_OR_RETURN(const std::string id, store_.findId(run));
    RunDetails details;
    ASSIGN_OR_RETURN(details.view.record, store_.get(id));
    std::erase_if(details.view.record.latestMetrics,
                  [](const auto& metric) { return runs::isSystemMetric(metric.first); });
    details.view.live = live_.get(id);
    ASSIGN_OR_RETURN(details.planFacts, planFacts(details.view.record));
    ASSIGN_OR_RETURN(const std::string receipt,
                     store_.document(id, runs::LargeDocument::kReceipt));
    if (!receipt.empty()) {
        details.receipt = headOfReceipt(receipt, kReceiptFilesShown).value_or(ReceiptHead{});
    }
    ASSIGN_OR_RETURN(details.checkpoints, store_.checkpoints(id));
    std::reverse(details.checkpoints.begin(), details.checkpoints.end());
    ASSIGN_OR_RETURN(details.metricNames, store_.metricKeys(id));
    const RunDirectory directory = directoryOf(id);
    details.events = directory.readEvents();
    details.submit = directory.readSubmitFacts();
    details.directory = directory.path();
    return details;
}

// Of runs that older versions stored: counted.
Result<Json> RunService::planFacts(const runs::RunRecord& run) const {
    if (Result<Json> facts = parseJson(run.planFacts, "facts of the plan"); facts.ok()) {
        return facts;
    }
    ASSIGN_OR_RETURN(const std::string plan, store_.document(run.id, runs::LargeDocument::kPlan));
    return planFactsOf(plan);
}

Result<RunService::Document> RunService::document(const std::string& run,
                                                  runs::LargeDocument which,
                                                  std::int64_t offset) const {
    Document document;
    ASSIGN_OR_RETURN(document.runId, store_.findId(run));
    ASSIGN_OR_RETURN(document.page,
                     store_.documentPage(document.runId, which, offset, kDocumentPageBytes));
    return document;
}

Result<RunView> RunService::change(const std::string& run,
                                   const std::function<Status(const std::string& id)>& what) {
    ASSIGN_OR_RETURN(const std::string id, store_.findId(run));
    RETURN_IF_ERROR(what(id));
    live_.touch();
    return viewOf(id);
}

Result<RunView> RunService::stop(const std::string& run, const std::string& reason,
                                 std::chrono::milliseconds grace) {
    return change(run, [&](const std::string& id) {
        return controller_.stop(id, reason.empty() ? "stopped on request" : reason, grace);
    });
}

Result<RunView> RunService::resume(const std::string& run, std::int64_t step) {
    return change(run, [&](const std::string& id) { return controller_.resume(id, step); });
}

Result<RunService::Removed> RunService::remove(const std::string& run, bool isForGood) {
    Removed removed;
    removed.keep = deleted_.keep();
    const auto hide = [&](const std::string& id) -> Status {
        RETURN_IF_ERROR(store_.markDeleted(id));
        if (!isForGood) {
            removed.heldBytes = deleted_.bytesOf(id);
            return okStatus();
        }
        ASSIGN_OR_RETURN(removed.freedBytes, deleted_.purge(id));
        return okStatus();
    };
    ASSIGN_OR_RETURN(removed.view, change(run, hide));
    return removed;
}

Result<RunView> RunService::restore(const std::string& run) {
    return change(run, [&](const std::string& id) { return store_.restore(id); });
}

Result<RunView> RunService::setNote(const std::string& run, const std::string& note) {
    RETURN_IF_ERROR(checkNote(note));
    return change(run, [&](const std::string& id) { return store_.setNote(id, note); });
}

Result<RunView> RunService::setTags(const std::string& run,
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

Status RunService::checkFilter(const std::string& filter,
                               const std::vector<std::string>& orderBy) const {
    RETURN_IF_ERROR(runs::parseFilter(filter).status());
    return runs::parseOrderBy(orderBy).status();
}

Result<RunService::MetricAnswer> RunService::metrics(const std::string& run,
                                                     const std::vector<std::string>& names,
                                                     const runs::MetricRange& range,
                                                     bool withSystem) const {
    MetricAnswer answer;
    ASSIGN_OR_RETURN(answer.runId, store_.findId(run));
    std::vector<std::string> wanted = names;
    if (wanted.empty()) {
        ASSIGN_OR_RETURN(wanted, store_.metricKeys(answer.runId));
        std::erase_if(wanted, [&](const std::string& name) {
            return !withSystem && runs::isSystemMetric(name);
        });
    }
    std::sort(wanted.begin(), wanted.end());
    std::vector<runs::MetricRequest> requests;
    requests.reserve(wanted.size());
    for (std::string& name : wanted) {
        requests.push_back({std::move(name), range});
    }
    ASSIGN_OR_RETURN(runs::SeriesAtCursor read, store_.metricsAtCursor(answer.runId, requests));
    answer.series = std::move(read.series);
    answer.cursor = read.cursor;
    return answer;
}

Result<RunWatch> RunService::watch(const std::vector<std::string>& runs) const {
    std::vector<std::string> ids;
    for (const std::string& run : runs) {
        ASSIGN_OR_RETURN(std::string id, store_.findId(run));
        ids.push_back(std::move(id));
    }
    return RunWatch(store_, live_, std::move(ids));
}

Result<MetricFollower> RunService::followMetrics(const std::string& run, MetricWish wish) const {
    ASSIGN_OR_RETURN(const std::string id, store_.findId(run));
    return MetricFollower(store_, id, std::move(wish));
}

Result<RunService::RunLog> RunService::readLogs(const std::string& run,
                                                const LogQuery& query) const {
    ASSIGN_OR_RETURN(const std::string id, store_.findId(run));
    ASSIGN_OR_RETURN(LogReader reader, LogReader::open(directoryOf(id), query));
    return RunLog{id, std::move(reader)};
}

bool RunService::hasEnded(const std::string& runId) const {
    const Result<runs::RunRecord> run = readSummary(store_, runId);
    return !run.ok() || runs::isTerminal(run->state);
}

}  // namespace millrace::agent

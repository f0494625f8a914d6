#include "proto/convert/run_convert.h"

#include <algorithm>
#include <array>

namespace millrace::convert {
namespace {

constexpr std::array<std::pair<std::string_view, v1::Phase>, 4> kPhases = {
    {{"training", v1::PHASE_TRAINING},
     {"waiting", v1::PHASE_WAITING},
     {"checkpoint", v1::PHASE_CHECKPOINT},
     {"evaluating", v1::PHASE_EVALUATING}}};

v1::Phase phaseToProto(std::string_view phase) {
    for (const auto& [text, value] : kPhases) {
        if (text == phase) {
            return value;
        }
    }
    return v1::PHASE_UNSPECIFIED;
}

std::string phaseFromProto(v1::Phase phase) {
    for (const auto& [text, value] : kPhases) {
        if (value == phase) {
            return std::string(text);
        }
    }
    return "";
}

template <class Map, class ProtoMap>
void copyMap(const Map& from, ProtoMap* to) {
    for (const auto& [key, value] : from) {
        (*to)[key] = value;
    }
}

template <class ProtoMap>
std::map<std::string, std::string> mapOf(const ProtoMap& from) {
    return {from.begin(), from.end()};
}

void progressToProto(const RunView& run, v1::Progress* out) {
    out->set_step(run.record.step);
    out->set_steps_total(run.record.stepsTotal);
    out->set_epoch(run.record.epoch);
    out->set_epochs(run.epochs);
    out->set_rows(run.record.rowsTrained);
    out->set_phase(phaseToProto(run.record.phase));
    out->set_busy_ms(run.busyMs);
    out->set_stall_ms(run.stallMs);
    out->set_time_ms(run.progressMs);
}

void progressFromProto(const v1::Progress& progress, RunView& out) {
    out.record.step = progress.step();
    out.record.stepsTotal = progress.steps_total();
    out.record.epoch = progress.epoch();
    out.record.rowsTrained = progress.rows();
    out.record.phase = phaseFromProto(progress.phase());
    out.epochs = progress.epochs();
    out.busyMs = progress.busy_ms();
    out.stallMs = progress.stall_ms();
    out.progressMs = progress.time_ms();
}

void namesToProto(const runs::RunRecord& r, v1::RunSummary* out) {
    out->set_id(r.id);
    out->set_uid(r.uid);
    out->set_name(r.name);
    out->set_owner(r.owner);
    out->set_project(r.project);
    out->set_note(r.note);
    copyMap(r.tags, out->mutable_tags());
    out->set_variation(r.variation);
    out->set_variation_of(r.baseRunId);
    out->set_group(r.baseRunId.empty() ? r.id : r.baseRunId);
    out->set_parent_run(r.parentRunId);
    out->set_spec_hash(r.specHash);
    out->set_stream_hash(r.streamHash);
    out->set_plan_hash(r.planHash);
    out->set_submit_key(r.submitKey);
    out->set_git_commit(r.gitCommit);
    out->set_is_git_dirty(r.isGitDirty);
    out->set_host(r.host);
    out->set_seed(r.seed);
    copyMap(r.params, out->mutable_params());
}

void namesFromProto(const v1::RunSummary& run, runs::RunRecord& r) {
    r.id = run.id();
    r.uid = run.uid();
    r.name = run.name();
    r.owner = run.owner();
    r.project = run.project();
    r.note = run.note();
    r.tags = mapOf(run.tags());
    r.variation = run.variation();
    r.baseRunId = run.variation_of();
    r.parentRunId = run.parent_run();
    r.specHash = run.spec_hash();
    r.streamHash = run.stream_hash();
    r.planHash = run.plan_hash();
    r.submitKey = run.submit_key();
    r.gitCommit = run.git_commit();
    r.isGitDirty = run.is_git_dirty();
    r.host = run.host();
    r.seed = run.seed();
    r.params = mapOf(run.params());
}

}  // namespace

v1::RunState toProto(runs::RunState state) {
    return static_cast<v1::RunState>(static_cast<int>(state) + 1);
}

runs::RunState fromProto(v1::RunState state) {
    const int index = static_cast<int>(state) - 1;
    const bool isKnown = index >= 0 && index < static_cast<int>(runs::kRunStateTexts.size());
    return isKnown ? static_cast<runs::RunState>(index) : runs::RunState::kQueued;
}

v1::RunSummary toProto(const RunView& run) {
    const runs::RunRecord& r = run.record;
    v1::RunSummary out;
    namesToProto(r, &out);
    out.set_state(toProto(r.state));
    out.set_queued_reason(run.queuedReason);
    out.set_trouble(run.trouble);
    out.set_stands_since_ms(run.standsSinceMs);
    out.set_exit_reason(r.exitReason);
    out.set_attempt(r.attempt);
    out.set_restarts(r.restarts);
    out.set_created_ms(r.createdMs);
    out.set_started_ms(r.startedMs);
    out.set_ended_ms(r.endedMs);
    out.set_deleted_ms(r.deletedMs);
    out.set_purged_ms(r.purgedMs);
    progressToProto(run, out.mutable_progress());
    for (const auto& [name, point] : r.latestMetrics) {
        *out.add_latest_metrics() = toProto(NamedPoint{name, point});
    }
    for (const auto& [name, point] : r.bestMetrics) {
        *out.add_best_metrics() = toProto(NamedPoint{name, point});
    }
    if (r.meanRate > 0) {
        out.set_mean_samples_per_second(r.meanRate);
    }
    out.set_model(run.model);
    out.set_dataset(run.dataset);
    out.set_revision(static_cast<std::uint64_t>(r.change));
    out.set_rows_read(run.rowsRead);
    out.set_rows_kept(run.rowsKept);
    out.set_rows_trained(r.rowsTrained);
    out.set_order_hash(run.orderHash);
    out.set_eval_order_hash(run.evalOrderHash);
    return out;
}

RunView fromProto(const v1::RunSummary& run) {
    RunView out;
    runs::RunRecord& r = out.record;
    namesFromProto(run, r);
    r.state = fromProto(run.state());
    out.queuedReason = run.queued_reason();
    out.trouble = run.trouble();
    out.standsSinceMs = run.stands_since_ms();
    r.exitReason = run.exit_reason();
    r.attempt = run.attempt();
    r.restarts = run.restarts();
    r.createdMs = run.created_ms();
    r.startedMs = run.started_ms();
    r.endedMs = run.ended_ms();
    r.deletedMs = run.deleted_ms();
    r.isDeleted = r.deletedMs > 0;
    r.purgedMs = run.purged_ms();
    progressFromProto(run.progress(), out);
    for (const v1::Metric& metric : run.latest_metrics()) {
        NamedPoint named = fromProto(metric);
        r.latestMetrics[named.name] = named.point;
    }
    for (const v1::Metric& metric : run.best_metrics()) {
        NamedPoint named = fromProto(metric);
        r.bestMetrics[named.name] = named.point;
    }
    r.meanRate = run.mean_samples_per_second();
    out.model = run.model();
    out.dataset = run.dataset();
    r.change = static_cast<std::int64_t>(run.revision());
    out.rowsRead = run.rows_read();
    out.rowsKept = run.rows_kept();
    out.orderHash = run.order_hash();
    out.evalOrderHash = run.eval_order_hash();
    return out;
}

v1::Metric toProto(const NamedPoint& named) {
    v1::Metric out;
    out.set_name(named.name);
    out.set_value(named.point.value);
    out.set_step(named.point.step);
    out.set_time_ms(named.point.timeMs);
    out.set_epoch(named.point.epoch);
    out.set_rows(named.point.rows);
    out.set_attempt(named.point.attempt);
    return out;
}

NamedPoint fromProto(const v1::Metric& metric) {
    NamedPoint out;
    out.name = metric.name();
    out.point.value = metric.value();
    out.point.step = metric.step();
    out.point.timeMs = metric.time_ms();
    out.point.epoch = metric.epoch();
    out.point.rows = metric.rows();
    out.point.attempt = metric.attempt();
    return out;
}

v1::Checkpoint toProto(const runs::CheckpointRecord& checkpoint) {
    v1::Checkpoint out;
    out.set_step(checkpoint.step);
    out.set_epoch(checkpoint.epoch);
    out.set_path(checkpoint.name);
    out.set_bytes(static_cast<std::uint64_t>(checkpoint.bytes));
    out.set_hash(checkpoint.hash);
    out.set_time_ms(checkpoint.timeMs);
    out.set_attempt(checkpoint.attempt);
    return out;
}

runs::CheckpointRecord fromProto(const v1::Checkpoint& checkpoint) {
    runs::CheckpointRecord out;
    out.step = checkpoint.step();
    out.epoch = checkpoint.epoch();
    out.name = checkpoint.path();
    out.bytes = static_cast<std::int64_t>(checkpoint.bytes());
    out.hash = checkpoint.hash();
    out.timeMs = checkpoint.time_ms();
    out.attempt = checkpoint.attempt();
    return out;
}

v1::LogLine toProto(const LogLine& line) {
    v1::LogLine out;
    out.set_time_ms(line.timeMs);
    out.set_worker(line.worker);
    out.set_text(line.text);
    out.set_level(static_cast<v1::LogLevel>(line.level));
    out.set_is_stderr(line.isStderr);
    out.set_attempt(line.attempt);
    return out;
}

LogLine fromProto(const v1::LogLine& line) {
    LogLine out;
    out.timeMs = line.time_ms();
    out.worker = line.worker();
    out.text = line.text();
    const int level = static_cast<int>(line.level());
    out.level = level >= 0 && level <= 4 ? static_cast<LogLevel>(level) : LogLevel::kNone;
    out.isStderr = line.is_stderr();
    out.attempt = line.attempt();
    return out;
}

v1::SpecError toProto(const spec::SpecError& error, const std::string& fileName) {
    v1::SpecError out;
    out.set_message(error.message);
    out.set_line(static_cast<std::uint32_t>(std::max(error.line, 0)));
    out.set_column(static_cast<std::uint32_t>(std::max(error.column, 0)));
    out.set_code(error.code);
    out.set_path(error.path);
    out.set_file(fileName);
    return out;
}

spec::SpecError fromProto(const v1::SpecError& error) {
    spec::SpecError out;
    out.message = error.message();
    out.line = static_cast<int>(error.line());
    out.column = static_cast<int>(error.column());
    out.code = error.code();
    out.path = error.path();
    return out;
}

v1::RunView toProto(runs::RunQuery::View view) {
    switch (view) {
        case runs::RunQuery::View::kDeleted:
            return v1::RUN_VIEW_DELETED;
        case runs::RunQuery::View::kAll:
            return v1::RUN_VIEW_ALL;
        case runs::RunQuery::View::kActive:
            break;
    }
    return v1::RUN_VIEW_ACTIVE;
}

runs::RunQuery::View fromProto(v1::RunView view) {
    if (view == v1::RUN_VIEW_DELETED) {
        return runs::RunQuery::View::kDeleted;
    }
    return view == v1::RUN_VIEW_ALL ? runs::RunQuery::View::kAll : runs::RunQuery::View::kActive;
}

v1::ListRunsRequest toProto(const runs::RunQuery& query) {
    v1::ListRunsRequest out;
    out.set_filter(query.filter);
    for (const std::string& key : query.orderBy) {
        out.add_order_by(key);
    }
    out.set_page_size(static_cast<std::uint32_t>(query.pageSize));
    out.set_page_token(query.pageToken);
    out.set_view(toProto(query.view));
    out.set_changes_since(query.changedSince > 0 ? static_cast<std::uint64_t>(query.changedSince)
                                                 : 0);
    out.set_with_params(query.withParams);
    out.set_with_system_metrics(query.withSystemMetrics);
    return out;
}

runs::RunQuery fromProto(const v1::ListRunsRequest& request) {
    runs::RunQuery out;
    out.filter = request.filter();
    out.orderBy = {request.order_by().begin(), request.order_by().end()};
    constexpr std::uint32_t kDefault = 100, kMost = 1000;
    out.pageSize = static_cast<int>(
        request.page_size() == 0 ? kDefault : std::min(request.page_size(), kMost));
    out.pageToken = request.page_token();
    out.view = fromProto(request.view());
    out.changedSince =
        request.changes_since() == 0 ? -1 : static_cast<std::int64_t>(request.changes_since());
    out.withParams = request.with_params();
    out.withSystemMetrics = request.with_system_metrics();
    return out;
}

}  // namespace millrace::convert

#include "daemon/rpc/run_messages.h"

#include "backend/core/utf8.h"
#include "proto/convert/run_convert.h"

namespace millrace::rpc {
namespace {

convert::RunView convertView(const agent::RunView& view) {
    convert::RunView out;
    out.record = view.record;
    out.queuedReason = view.live.queuedReason;
    out.epochs = view.live.epochs;
    out.busyMs = view.live.busyMs;
    out.stallMs = view.live.stallMs;
    out.progressMs = view.live.progressMs;
    out.trouble = view.live.trouble;
    out.standsSinceMs = view.live.standsSinceMs;
    out.model = view.record.model;
    out.dataset = view.record.dataset;
    out.rowsRead = view.record.rowsRead;
    out.rowsKept = view.record.rowsKept;
    out.orderHash = view.record.orderHash;
    out.evalOrderHash = view.record.evalOrderHash;
    return out;
}

void fillFile(const Json& json, v1::FileReceipt* out) {
    out->set_path(jsonString(json, "relative_path", jsonString(json, "path")));
    out->set_bytes(static_cast<std::uint64_t>(jsonInt(json, "bytes")));
    out->set_footer_hash(jsonString(json, "footer_hash", jsonString(json, "hash")));
    out->set_rows(jsonInt(json, "rows"));
}

void fillStep(const Json& json, v1::StepReceipt* out) {
    out->set_step(jsonString(json, "name"));
    out->set_rows_in(jsonInt(json, "rows_in"));
    out->set_rows_out(jsonInt(json, "rows_out"));
    for (const Json& reason : jsonMember(json, "reasons")) {
        v1::StepReason* one = out->add_reasons();
        one->set_name(jsonString(reason, "name"));
        one->set_rows(jsonInt(reason, "rows"));
    }
}

void fillReceipt(const agent::ReceiptHead& head, v1::Receipt* out) {
    const Json& receipt = head.json;
    out->set_files_total(static_cast<std::uint32_t>(head.numFiles));
    for (const Json& file : jsonMember(receipt, "files")) {
        fillFile(file, out->add_files());
    }
    for (const Json& table : jsonMember(receipt, "side_tables")) {
        fillFile(table, out->add_side_tables());
    }
    for (const Json& step : jsonMember(receipt, "steps")) {
        fillStep(step, out->add_steps());
    }
    for (const Json& vocabulary : jsonMember(receipt, "vocabularies")) {
        v1::VocabularyReceipt* one = out->add_vocabularies();
        one->set_feature(jsonString(vocabulary, "feature"));
        one->set_ids(jsonInt(vocabulary, "ids"));
        one->set_unknown(jsonInt(vocabulary, "unknown"));
    }
    out->set_order_hash(jsonString(receipt, "order_hash"));
    out->set_eval_order_hash(jsonString(receipt, "eval_order_hash"));
    out->set_plan_hash(jsonString(receipt, "plan_hash"));
    out->set_rows_scanned(jsonInt(receipt, "rows_scanned"));
    out->set_rows_pruned(jsonInt(receipt, "rows_pruned"));
    out->set_rows_kept(jsonInt(receipt, "rows_kept"));
    out->set_rows_trained(jsonInt(receipt, "rows_trained"));
    out->set_json(dumpJson(receipt));
}

void fillPlan(const Json& facts, v1::GetRunResponse* out) {
    out->set_plan_files(static_cast<std::uint32_t>(jsonInt(facts, "files")));
    out->set_plan_splits(static_cast<std::uint32_t>(jsonInt(facts, "splits")));
    out->set_plan_rows(jsonInt(facts, "rows"));
    out->set_plan_bytes(static_cast<std::uint64_t>(jsonInt(facts, "bytes")));
}

}  // namespace

v1::RunSummary toProto(const agent::RunView& view) {
    return convert::toProto(convertView(view));
}

void fillDetails(const agent::RunDetails& details, v1::GetRunResponse* out) {
    const runs::RunRecord& run = details.view.record;
    *out->mutable_summary() = toProto(details.view);
    out->mutable_summary()->clear_params();
    out->set_spec_text(run.specText);
    out->set_spec_file_name(details.submit.fileName);
    out->set_resolved_spec(run.resolvedSpec);
    out->set_plan_hash(run.planHash);
    fillPlan(details.planFacts, out);
    if (details.receipt.has_value()) {
        fillReceipt(*details.receipt, out->mutable_receipt());
    }
    out->mutable_params()->insert(run.params.begin(), run.params.end());
    out->mutable_packages()->insert(run.packages.begin(), run.packages.end());
    for (const runs::CheckpointRecord& checkpoint : details.checkpoints) {
        v1::Checkpoint* one = out->add_checkpoints();
        *one = convert::toProto(checkpoint);
        one->set_path(toUtf8(strCat(details.directory, "/checkpoints/", checkpoint.name)));
    }
    out->mutable_git()->set_commit(run.gitCommit);
    out->mutable_git()->set_is_dirty(run.isGitDirty);
    out->mutable_git()->set_branch(details.submit.gitBranch);
    out->mutable_git()->set_remote(details.submit.gitRemote);
    for (const agent::LiveWorker& worker : details.view.live.workers) {
        v1::WorkerInfo* one = out->add_workers();
        one->set_name(worker.name);
        one->set_pid(worker.pid);
        one->set_state(worker.state);
        one->set_exit_code(worker.exitCode);
        one->set_attempt(worker.attempt);
    }
    for (const agent::RunEvent& event : details.events) {
        v1::RunEvent* one = out->add_events();
        one->set_time_ms(event.timeMs);
        one->set_text(event.text);
    }
    out->set_directory(toUtf8(details.directory));
    out->set_hardware(run.hardware);
    for (const std::string& name : details.metricNames) {
        out->add_metric_names(name);
    }
    for (const std::string& set : details.submit.sets) {
        out->add_sets(set);
    }
}

void fillOutcome(const agent::SubmitOutcome& outcome, const std::string& fileName,
                 v1::SubmitResponse* out) {
    for (const agent::RunView& run : outcome.runs) {
        agent::RunView light = run;
        light.record.params.clear();
        *out->add_runs() = toProto(light);
    }
    for (const spec::SpecError& error : outcome.errors) {
        *out->add_errors() = convert::toProto(error, fileName);
    }
    for (const std::string& warning : outcome.warnings) {
        out->add_warnings()->set_message(warning);
    }
    out->set_was_known(outcome.wasKnown);
}

agent::SubmitOrder fromProto(const v1::SubmitRequest& request) {
    agent::SubmitOrder order;
    agent::InspectRequest& spec = order.spec;
    spec.text = request.spec_text();
    spec.fileName = request.file_name().empty() ? "spec.yaml" : request.file_name();
    spec.baseDir = request.base_dir();
    spec.isAll = request.all_variations();
    spec.sets = {request.sets().begin(), request.sets().end()};
    if (!request.without_base() && request.variations_size() > 0) {
        spec.variations.emplace_back("");
    }
    spec.variations.insert(spec.variations.end(), request.variations().begin(),
                           request.variations().end());
    order.key = request.key();
    order.owner = request.owner();
    order.project = request.project();
    order.note = request.note();
    order.tags = {request.tags().begin(), request.tags().end()};
    order.packages = {request.packages().begin(), request.packages().end()};
    order.gitCommit = request.git().commit();
    order.gitBranch = request.git().branch();
    order.gitRemote = request.git().remote();
    order.isGitDirty = request.git().is_dirty();
    return order;
}

agent::LogQuery fromProto(const v1::LogsRequest& request) {
    agent::LogQuery query;
    query.workers = {request.workers().begin(), request.workers().end()};
    query.attempt = request.attempt();
    const int level = static_cast<int>(request.min_level());
    query.minLevel =
        level >= 0 && level <= 4 ? static_cast<agent::LogLevel>(level) : agent::LogLevel::kNone;
    query.tailLines = request.tail_lines();
    query.cursor = request.cursor();
    query.isFollowing = request.follow();
    return query;
}

v1::LogChunk toProto(const agent::LogPage& page) {
    v1::LogChunk out;
    for (const agent::LogLine& line : page.lines) {
        *out.add_lines() = convert::toProto(convert::LogLine{
            line.timeMs, line.worker, line.text, static_cast<convert::LogLevel>(line.level),
            line.isStderr, line.attempt});
    }
    out.set_cursor(page.cursor);
    out.set_dropped_lines(page.droppedLines);
    return out;
}

}  // namespace millrace::rpc

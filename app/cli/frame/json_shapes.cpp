#include "app/cli/frame/json_shapes.h"

#include <optional>

#include "backend/core/clock.h"

namespace millrace::cli {
namespace {

Json orNull(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}
Json orNull(std::int64_t value) {
    return value == 0 ? Json() : Json(value);
}
Json number(const std::optional<double>& value) {
    return value ? jsonNumber(*value) : Json();
}
Json number(const std::optional<std::uint64_t>& value) {
    return value ? Json(*value) : Json();
}

Json fileJson(const values::FileReceipt& file) {
    return {{"path", file.path},
            {"bytes", file.bytes},
            {"footer_hash", file.footerHash},
            {"rows", file.rows < 0 ? Json() : Json(file.rows)}};
}

Json gitJson(const values::GitInfo& git) {
    if (git.commit.empty()) {
        return {};
    }
    return {{"commit", git.commit},
            {"branch", orNull(git.branch)},
            {"dirty", git.isDirty},
            {"remote", orNull(git.remote)}};
}

// Null: the run has no command.
Json scriptJson(const values::ScriptInfo& script) {
    if (script.place.environment.empty()) {
        return {};
    }
    return {{"working_directory", script.place.workingDirectory},
            {"environment", script.place.environment},
            {"path", orNull(script.path)},
            {"sha256", orNull(script.sha256)},
            {"interpreter", orNull(script.interpreter)},
            {"python", orNull(script.python)},
            {"diff_path", orNull(script.diffPath)}};
}

void addTimes(Json& json, const std::optional<values::PhaseTimes>& times) {
    const auto part = [&](double values::PhaseTimes::* one) {
        return times ? jsonNumber(*times.*one) : Json();
    };
    json["busy_ms"] = part(&values::PhaseTimes::busyMs);
    json["stall_ms"] = part(&values::PhaseTimes::stallMs);
    json["evaluate_ms"] = part(&values::PhaseTimes::evaluateMs);
    json["checkpoint_ms"] = part(&values::PhaseTimes::checkpointMs);
    json["start_ms"] = part(&values::PhaseTimes::startMs);
    json["ending_ms"] = part(&values::PhaseTimes::endingMs);
    json["stall_percent"] = times && times->sum() > 0 ? jsonNumber(times->stallPercent()) : Json();
}

// For an active run: the present activity of each rank.
Json ranksJson(const values::RunSummary& run) {
    Json ranks = Json::array();
    for (const values::RankNow& rank : run.ranks) {
        ranks.push_back({{"rank", rank.rank},
                         {"state", rank.state},
                         {"trouble", orNull(rank.trouble)},
                         {"stalled_since", jsonTime(rank.standsSinceMs)},
                         {"phase", orNull(std::string(nameOf(rank.phase)))},
                         {"step", rank.step},
                         {"stall_percent_now", number(rank.stallPercentNow)},
                         {"step_ms", number(rank.stepMs)},
                         {"step_stall_percent", number(rank.stepStallPercent)},
                         {"stepped", jsonTime(rank.steppedMs)}});
        addTimes(ranks.back(), rank.times);
    }
    return ranks;
}

template <class List>
Json files(const List& list) {
    Json all = Json::array();
    for (const values::FileReceipt& file : list) {
        all.push_back(fileJson(file));
    }
    return all;
}

}  // namespace

Json jsonTime(std::int64_t utcMs) {
    return utcMs == 0 ? Json() : Json(formatTime(utcMs));
}

Json progressJson(const values::RunSummary& run) {
    const values::Progress& progress = run.progress;
    Json json{{"step", progress.step},
              {"steps_total", orNull(progress.stepsTotal)},
              {"epoch", progress.epoch},
              {"epochs", orNull(progress.epochs)},
              {"rows", progress.rows},
              {"phase", orNull(isEnded(run.state) ? "" : std::string(nameOf(progress.phase)))},
              {"stall_percent_now", number(progress.stallPercentNow)},
              {"steps_per_second", number(progress.stepsPerSecond)},
              {"seconds_left", number(run.secondsLeft())}};
    addTimes(json, progress.times);
    return json;
}

Json handOverJson(const std::optional<values::HandOver>& handOver) {
    return !handOver.has_value() ? Json()
                                 : Json{{"what", handOver->areScores ? "scores" : "checkpoint"},
                                        {"step", handOver->step},
                                        {"bytes", handOver->bytes},
                                        {"sent", handOver->sent},
                                        {"waiting", handOver->numWaiting},
                                        {"trouble", orNull(handOver->trouble)}};
}

Json jsonOf(const values::RunSummary& run) {
    Json metrics = Json::object();
    for (const values::RunFigure& point : run.latestMetrics) {
        metrics[point.name] = jsonNumber(point.value);
    }
    Json best = Json::object();
    for (const values::RunFigure& point : run.bestMetrics) {
        best[point.name] = {{"value", jsonNumber(point.value)}, {"step", point.step}};
    }
    // Rows are counted only if there is a dataset.
    const auto rows = [&](std::int64_t count) {
        return run.dataset.empty() ? Json() : Json(count);
    };
    return {{"id", run.id},
            {"uid", run.uid},
            {"name", run.name},
            {"variation", orNull(run.variation)},
            {"variation_of", orNull(run.variationOf)},
            {"project", orNull(run.project)},
            {"owner", run.owner},
            {"tags", run.tags},
            {"note", orNull(run.note)},
            {"state", nameOf(run.state)},
            {"queued_reason", orNull(run.queuedReason)},
            {"exit_reason", orNull(run.exitReason)},
            {"trouble", orNull(run.trouble)},
            {"stalled_since", jsonTime(run.isStalled() ? run.standsSinceMs : 0)},
            {"attempt", run.attempt},
            {"restarts", run.restarts},
            {"created", jsonTime(run.createdMs)},
            {"started", jsonTime(run.startedMs)},
            {"ended", jsonTime(run.endedMs)},
            {"deleted", jsonTime(run.deletedMs)},
            {"purged", jsonTime(run.purgedMs)},
            {"progress", progressJson(run)},
            {"hand_over", handOverJson(run.handOver)},
            {"ranks", ranksJson(run)},
            {"metrics", metrics},
            {"best", best},
            {"mean_samples_per_second", run.meanRate ? jsonNumber(*run.meanRate) : Json()},
            {"model", orNull(run.model)},
            {"dataset", orNull(run.dataset)},
            {"host", orNull(run.host)},
            {"group", orNull(run.group)},
            {"spec_hash", orNull(run.specHash)},
            {"stream_hash", orNull(run.streamHash)},
            {"rows_read", rows(run.rowsRead)},
            {"rows_kept", rows(run.rowsKept)},
            {"rows_trained", rows(run.rowsTrained)},
            {"order_hash", orNull(run.orderHash)},
            {"eval_order_hash", orNull(run.evalOrderHash)},
            {"order_hash_version", run.orderHashVersion > 0 ? Json(run.orderHashVersion) : Json()}};
}

namespace {

Json flowJson(const values::FrameFlow& flow) {
    return {{"bytes", flow.bytes},
            {"raw_bytes", flow.rawBytes},
            {"bytes_per_second", jsonNumber(flow.bytesPerSecond)},
            {"raw_bytes_per_second", jsonNumber(flow.rawBytesPerSecond)}};
}

Json linkJson(const values::LinkTraffic& link) {
    return {{"from", {{"node", link.fromNode}, {"worker", link.fromWorker}}},
            {"to", {{"node", link.toNode}, {"worker", link.toWorker}}},
            {"bytes", link.bytes},
            {"raw_bytes", link.rawBytes},
            {"bytes_per_second", jsonNumber(link.bytesPerSecond())},
            {"awaited_seconds", jsonNumber(link.awaitedSeconds)},
            {"awaited_percent", jsonNumber(link.awaitedPercent)}};
}

}  // namespace

Json jsonOf(const values::FrameTraffic& traffic) {
    Json nodes = Json::array(), links = Json::array();
    for (const values::NodeTraffic& node : traffic.nodes) {
        nodes.push_back({{"node", orNull(node.node)},
                         {"sent", flowJson(node.sent)},
                         {"received", flowJson(node.received)}});
    }
    for (const values::LinkTraffic& link : traffic.slowest) {
        links.push_back(linkJson(link));
    }
    return {{"nodes", nodes},
            {"other_nodes", traffic.otherNodes},
            {"links", traffic.numLinks},
            {"slowest_links", links},
            {"direct_bytes", traffic.directBytes},
            {"carried_bytes", traffic.carriedBytes},
            {"lead_share", traffic.leadShare() ? Json(*traffic.leadShare()) : Json()},
            {"seconds", jsonNumber(traffic.seconds)}};
}

Json jsonOf(const values::DataWorkersReceipt& workers) {
    Json codecs = Json::array();
    for (std::size_t c = 0; c < workers.columns.size() && c < workers.codecs.size(); ++c) {
        codecs.push_back({{"column", workers.columns[c]}, {"codec", workers.codecs[c]}});
    }
    return {{"segments", workers.segments},
            {"cpu_seconds", workers.cpuSeconds},
            {"frame_bytes", workers.frameBytes},
            {"network_bytes", workers.networkBytes},
            {"direct_bytes", workers.directBytes},
            {"carried_bytes", workers.carriedBytes},
            {"lead_share", workers.leadShare() ? Json(*workers.leadShare()) : Json()},
            {"link_mb_per_second",
             workers.linkMbPerSecond > 0 ? Json(workers.linkMbPerSecond) : Json()},
            {"codecs", codecs}};
}

Json jsonOf(const values::Receipt& receipt) {
    Json steps = Json::array();
    for (const values::StepReceipt& step : receipt.steps) {
        Json reasons = Json::array();
        for (const values::StepReason& reason : step.reasons) {
            reasons.push_back({{"name", reason.name}, {"rows", reason.rows}});
        }
        steps.push_back({{"step", step.step},
                         {"rows_in", step.rowsIn},
                         {"rows_out", step.rowsOut},
                         {"reasons", reasons}});
    }
    Json vocabularies = Json::array();
    for (const values::VocabularyReceipt& one : receipt.vocabularies) {
        const bool isEvaluated = one.evalIds > 0;
        vocabularies.push_back({{"feature", one.feature},
                                {"ids", one.ids},
                                {"unknown", one.unknown},
                                {"eval_ids", isEvaluated ? Json(one.evalIds) : Json()},
                                {"eval_unknown", isEvaluated ? Json(one.evalUnknown) : Json()}});
    }
    Json labels = Json::array();
    for (const values::LabelReceipt& one : receipt.labels) {
        labels.push_back({{"head", one.head}, {"null", one.nulls}, {"nan", one.nans}});
    }
    Json costs = Json::array();
    for (const values::RoleCost& one : receipt.costs) {
        costs.push_back({{"role", one.role},
                         {"cpu_seconds", one.cpuSeconds},
                         {"peak_memory_bytes", one.peakMemoryBytes}});
    }
    return {{"files", files(receipt.files)},
            {"files_total", receipt.numFiles()},
            {"side_tables", files(receipt.sideTables)},
            {"steps", steps},
            {"vocabularies", vocabularies},
            {"labels", labels},
            {"data_workers", receipt.dataWorkers.isEmpty() ? Json() : jsonOf(receipt.dataWorkers)},
            {"costs", costs},
            {"order_hash", orNull(receipt.orderHash)},
            {"eval_order_hash", orNull(receipt.evalOrderHash)},
            {"order_hash_version", receipt.orderHashVersion},
            {"plan_hash", orNull(receipt.planHash)},
            {"rows_scanned", receipt.rowsScanned},
            {"rows_pruned", receipt.rowsPruned},
            {"rows_kept", receipt.rowsKept},
            {"rows_trained", receipt.rowsTrained},
            {"ends_inside_segment", receipt.endsInsideSegment},
            {"open_segment_counted", receipt.isOpenSegmentCounted}};
}

Json jsonOf(const values::Checkpoint& checkpoint) {
    return {{"step", checkpoint.step},
            {"path", checkpoint.path},
            {"bytes", checkpoint.bytes},
            {"hash", orNull(checkpoint.hash)},
            {"time", jsonTime(checkpoint.timeMs)},
            {"attempt", checkpoint.attempt}};
}

Json jsonOf(const values::RunDetail& detail) {
    Json run = jsonOf(detail.summary);
    const Result<Json> spec = parseJson(detail.resolvedSpec, "spec");
    const Result<Json> hardware = parseJson(detail.hardware, "hardware");
    run["spec"] = spec.ok() ? *spec : Json();
    run["hardware"] = hardware.ok() ? *hardware : Json();
    run["spec_file"] = orNull(detail.specFileName);
    run["sets"] = detail.sets;
    run["params"] = detail.params;
    run["packages"] = detail.packages;
    run["plan"] = detail.summary.dataset.empty() ? Json()
                                                 : Json({{"hash", orNull(detail.summary.planHash)},
                                                         {"files", detail.planFiles},
                                                         {"splits", detail.planSplits},
                                                         {"rows", detail.planRows},
                                                         {"bytes", detail.planBytes}});
    run["receipt"] = detail.receipt ? jsonOf(*detail.receipt) : Json();
    run["traffic"] = detail.shownTraffic().isEmpty() ? Json() : jsonOf(detail.shownTraffic());
    run["weights_hash"] = orNull(detail.weightsHash);
    run["checkpoints"] = jsonList(detail.checkpoints);
    run["git"] = gitJson(detail.git);
    run["script"] = scriptJson(detail.script);
    run["directory"] = orNull(detail.directory);
    run["metric_names"] = detail.metricNames;
    run["workers"] = Json::array();
    for (const values::WorkerInfo& worker : detail.workers) {
        run["workers"].push_back({{"name", worker.name},
                                  {"pid", orNull(static_cast<std::int64_t>(worker.pid))},
                                  {"state", worker.state},
                                  {"exit_code", worker.exitCode},
                                  {"attempt", worker.attempt},
                                  {"node", orNull(worker.node)}});
    }
    run["events"] = Json::array();
    for (const values::RunEvent& event : detail.events) {
        run["events"].push_back({{"time", jsonTime(event.timeMs)}, {"text", event.text}});
    }
    return run;
}

Json jsonOf(const values::SpecError& error) {
    return {{"message", error.message},
            {"code", orNull(error.code)},
            {"file", orNull(error.file)},
            {"path", orNull(error.path)},
            {"line", orNull(static_cast<std::int64_t>(error.line))},
            {"column", orNull(static_cast<std::int64_t>(error.column))}};
}

// The values of several ranks: "value" beside it is their median.
Json jsonOf(const values::RankSpread& ranks) {
    return {{"count", ranks.numRanks},
            {"least", jsonNumber(ranks.least)},
            {"least_rank", ranks.leastRank},
            {"greatest", jsonNumber(ranks.greatest)},
            {"greatest_rank", ranks.greatestRank}};
}

Json jsonOf(const std::string& run, const values::MetricLine& line,
            const values::MetricNames& names) {
    Json out = {{"type", "metrics"},
                {"run", run},
                {"step", line.step},
                {"epoch", line.epoch},
                {"time", jsonTime(line.timeMs)},
                {"attempt", line.attempt},
                {"values", Json::object()}};
    if (line.rank != values::kNoRank) {
        out["rank"] = line.rank;
    }
    for (const values::MetricValue& value : line.values) {
        const std::string& name = names.at(value.key);
        out["values"][name] = jsonNumber(value.value);
        if (value.ranks) {
            out["ranks"][name] = jsonOf(*value.ranks);
        }
    }
    return out;
}

Json jsonOf(const values::MetricSeries& series) {
    Json points = Json::array();
    for (const values::MetricPoint& one : series.points) {
        Json& point = points.emplace_back(Json{
            {"step", one.step}, {"time", jsonTime(one.timeMs)}, {"value", jsonNumber(one.value)}});
        if (one.ranks) {
            point["ranks"] = jsonOf(*one.ranks);
        }
    }
    Json out = {{"name", series.key},
                {"points_total", series.numPoints},
                {"thinned_out", series.isDecimated},
                {"points", points}};
    if (!series.problem.empty()) {
        out["problem"] = series.problem;
    }
    return out;
}

Json jsonOf(const values::DaemonStatus& status) {
    return {{"version", status.version},
            {"pid", status.pid},
            {"started", jsonTime(status.startedMs)},
            {"address", status.address},
            {"state_dir", status.stateDir},
            {"bin_dir", status.binDir},
            {"config", orNull(status.configFile)},
            {"log_file", orNull(status.logFile)},
            {"nodes_listen", orNull(status.nodesListen)},
            {"nodes_address", orNull(status.nodesAddress)},
            {"trains", !status.isClosed},
            {"runs_running", status.runsRunning},
            {"runs_queued", status.runsQueued},
            {"runs_total", status.runsTotal},
            {"warnings", status.warnings}};
}

Json jsonOf(const values::NodeInfo& node) {
    Json gpus = Json::array();
    for (const values::GpuInfo& gpu : node.gpus) {
        gpus.push_back({{"index", gpu.index},
                        {"name", gpu.name},
                        {"uuid", orNull(gpu.uuid)},
                        {"driver_version", orNull(gpu.driverVersion)},
                        {"memory_bytes", gpu.memoryBytes}});
    }
    return {{"name", node.name},
            {"version", node.version},
            {"head", node.isHead},
            {"trains", !node.isClosed},
            {"os", orNull(node.os)},
            {"cpu_model", orNull(node.cpuModel)},
            {"cores", node.cores},
            {"memory_bytes", node.memoryBytes},
            {"gpus", gpus},
            {"gpu_note", orNull(node.gpuNote)},
            {"started", jsonTime(node.startedMs)},
            {"pid", node.pid},
            {"address", orNull(node.address)},
            {"state_dir", orNull(node.stateDir)},
            {"state", node.state},
            {"away_since", node.awaySinceMs == 0 ? Json() : jsonTime(node.awaySinceMs)},
            {"trouble", orNull(node.trouble)}};
}

Json jsonOf(const values::NodeSample& sample) {
    Json gpus = Json::array();
    for (const values::GpuSample& gpu : sample.gpus) {
        gpus.push_back({{"index", gpu.index},
                        {"utilization_percent", number(gpu.utilizationPercent)},
                        {"memory_used_bytes", number(gpu.memoryUsedBytes)},
                        {"memory_total_bytes", number(gpu.memoryTotalBytes)},
                        {"power_watts", number(gpu.powerWatts)},
                        {"temperature_celsius", number(gpu.temperatureCelsius)}});
    }
    Json processes = Json::array();
    for (const values::ProcessSample& process : sample.processes) {
        processes.push_back({{"run", process.runId},
                             {"worker", process.worker},
                             {"pid", process.pid},
                             {"cpu_percent", number(process.cpuPercent)},
                             {"memory_bytes", number(process.memoryBytes)}});
    }
    return {{"time", jsonTime(sample.timeMs)},
            {"cpu_percent", number(sample.cpuPercent)},
            {"load1", number(sample.load1)},
            {"memory_used_bytes", number(sample.memoryUsedBytes)},
            {"memory_total_bytes", number(sample.memoryTotalBytes)},
            {"disk_read_bytes_per_second", number(sample.diskReadBytesPerSecond)},
            {"disk_write_bytes_per_second", number(sample.diskWriteBytesPerSecond)},
            {"disk_free_bytes", number(sample.diskFreeBytes)},
            {"disk_total_bytes", number(sample.diskTotalBytes)},
            {"network_receive_bytes_per_second", number(sample.networkReceiveBytesPerSecond)},
            {"network_send_bytes_per_second", number(sample.networkSendBytesPerSecond)},
            {"frames_receive_bytes_per_second", number(sample.framesReceiveBytesPerSecond)},
            {"frames_send_bytes_per_second", number(sample.framesSendBytesPerSecond)},
            {"gpus", gpus},
            {"processes", processes}};
}

Json jsonOf(const values::LogLine& line) {
    constexpr const char* kLevels[] = {nullptr, "debug", "info", "warn", "error"};
    const char* level = kLevels[static_cast<int>(line.level)];
    return {{"time", jsonTime(line.timeMs)},
            {"worker", line.worker},
            {"level", level == nullptr ? Json() : Json(level)},
            {"text", line.text},
            {"stream", line.isStderr ? "stderr" : "stdout"},
            {"attempt", line.attempt},
            {"rank", line.rank ? Json(*line.rank) : Json()}};
}

}  // namespace millrace::cli

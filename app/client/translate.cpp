#include "app/client/translate.h"

#include <utility>

#include "backend/core/json.h"
#include "proto/convert/metric_convert.h"
#include "proto/convert/rpc_options.h"

namespace millrace::client {
namespace {

static_assert(kSpecBytesMax == rpc::kMaxSpecBytes);

RunState stateOf(v1::RunState state) {
    switch (state) {
        case v1::RUN_STATE_QUEUED:
            return RunState::kQueued;
        case v1::RUN_STATE_STARTING:
            return RunState::kStarting;
        case v1::RUN_STATE_RUNNING:
            return RunState::kRunning;
        case v1::RUN_STATE_STOPPING:
            return RunState::kStopping;
        case v1::RUN_STATE_FINISHED:
            return RunState::kFinished;
        case v1::RUN_STATE_FAILED:
            return RunState::kFailed;
        case v1::RUN_STATE_CANCELLED:
            return RunState::kCancelled;
        default:
            return RunState::kUnknown;
    }
}

Phase phaseOf(v1::Phase phase) {
    switch (phase) {
        case v1::PHASE_TRAINING:
            return Phase::kTraining;
        case v1::PHASE_WAITING:
            return Phase::kWaiting;
        case v1::PHASE_CHECKPOINT:
            return Phase::kCheckpoint;
        case v1::PHASE_EVALUATING:
            return Phase::kEvaluating;
        default:
            return Phase::kUnknown;
    }
}

template <class Map>
std::map<std::string, std::string> texts(const Map& from) {
    return {from.begin(), from.end()};
}

template <class List>
std::vector<std::string> textList(const List& from) {
    return {from.begin(), from.end()};
}

template <class To, class List>
std::vector<To> listOf(const List& from, To (*convert)(const typename List::value_type&)) {
    std::vector<To> all;
    all.reserve(static_cast<std::size_t>(from.size()));
    for (const auto& one : from) {
        all.push_back(convert(one));
    }
    return all;
}

Progress progressOf(const v1::Progress& from) {
    return {from.step(),           from.steps_total(), from.epoch(),    from.epochs(), from.rows(),
            phaseOf(from.phase()), from.busy_ms(),     from.stall_ms(), from.time_ms()};
}

MetricPoint pointOf(const v1::Metric& from) {
    return {from.name(),  from.value(), from.step(),   from.time_ms(),
            from.epoch(), from.rows(),  from.attempt()};
}

Checkpoint checkpointOf(const v1::Checkpoint& from) {
    return {from.step(), from.time_ms(), from.path(), from.hash(), from.bytes(), from.attempt()};
}

FileReceipt fileOf(const v1::FileReceipt& from) {
    return {from.path(), from.footer_hash(), from.bytes(), from.rows()};
}

StepReason reasonOf(const v1::StepReason& from) {
    return {from.name(), from.rows()};
}

StepReceipt stepOf(const v1::StepReceipt& from) {
    return {from.step(), from.rows_in(), from.rows_out(), listOf(from.reasons(), &reasonOf)};
}

VocabularyReceipt vocabularyOf(const v1::VocabularyReceipt& from) {
    return {from.feature(), from.ids(), from.unknown()};
}

WorkerInfo workerOf(const v1::WorkerInfo& from) {
    return {from.name(), from.state(), from.pid(), from.exit_code(), from.attempt()};
}

RunEvent eventOf(const v1::RunEvent& from) {
    return {from.time_ms(), from.text()};
}

SpecError specErrorOf(const v1::SpecError& from) {
    return toValue(from);
}

LogLevel levelOf(v1::LogLevel level) {
    switch (level) {
        case v1::LOG_LEVEL_DEBUG:
            return LogLevel::kDebug;
        case v1::LOG_LEVEL_INFO:
            return LogLevel::kInfo;
        case v1::LOG_LEVEL_WARN:
            return LogLevel::kWarn;
        case v1::LOG_LEVEL_ERROR:
            return LogLevel::kError;
        default:
            return LogLevel::kNone;
    }
}

LogLine lineOf(const v1::LogLine& from) {
    return {from.time_ms(),   from.worker(),  from.text(),
            from.is_stderr(), from.attempt(), levelOf(from.level())};
}

GpuInfo gpuOf(const v1::GpuInfo& from) {
    return {static_cast<int>(from.index()), from.name(), from.uuid(), from.driver_version(),
            from.memory_bytes()};
}

Receipt receiptOf(const v1::Receipt& from) {
    Receipt to;
    to.files = listOf(from.files(), &fileOf);
    to.filesTotal = from.files_total();
    to.sideTables = listOf(from.side_tables(), &fileOf);
    to.steps = listOf(from.steps(), &stepOf);
    to.vocabularies = listOf(from.vocabularies(), &vocabularyOf);
    to.orderHash = from.order_hash();
    to.evalOrderHash = from.eval_order_hash();
    to.planHash = from.plan_hash();
    to.rowsScanned = from.rows_scanned();
    to.rowsPruned = from.rows_pruned();
    to.rowsKept = from.rows_kept();
    to.rowsTrained = from.rows_trained();
    to.json = from.json();
    return to;
}

// What rank 0 said with `done`: in the receipt, or among the params.
std::string weightsHashOf(const RunDetail& detail) {
    if (detail.receipt) {
        const auto document = parseJson(detail.receipt->json, "receipt");
        const std::string hash = document.ok() ? jsonString(*document, "weights_hash") : "";
        if (!hash.empty()) {
            return hash;
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

GitFacts gitOf(const v1::GitFacts& from) {
    return {from.commit(), from.branch(), from.remote(), from.is_dirty()};
}

#define OPTIONAL_FIELD(message, field) \
    ((message).has_##field() ? std::optional((message).field()) : std::nullopt)

GpuSample gpuSampleOf(const v1::GpuSample& from) {
    GpuSample to;
    to.index = static_cast<int>(from.index());
    to.utilizationPercent = OPTIONAL_FIELD(from, utilization_percent);
    to.powerWatts = OPTIONAL_FIELD(from, power_watts);
    to.temperatureCelsius = OPTIONAL_FIELD(from, temperature_celsius);
    to.memoryUsedBytes = OPTIONAL_FIELD(from, memory_used_bytes);
    to.memoryTotalBytes = OPTIONAL_FIELD(from, memory_total_bytes);
    return to;
}

ProcessSample processOf(const v1::ProcessSample& from) {
    return {from.run_id(), from.worker(), from.pid(), OPTIONAL_FIELD(from, cpu_percent),
            OPTIONAL_FIELD(from, memory_bytes)};
}

// The spec's list of paths, as people write it: "a.csv, b.csv".
std::string pathsOf(const std::string& list) {
    const Result<Json> json = parseJson(list, "dataset");
    if (!json.ok() || !json->is_array()) {
        return list;
    }
    std::string text;
    for (const Json& path : *json) {
        strAppend(&text, text.empty() ? "" : ", ",
                  path.is_string() ? path.get<std::string>() : dumpJson(path));
    }
    return text;
}

}  // namespace

RunSummary toValue(const v1::RunSummary& from) {
    RunSummary to;
    to.id = from.id();
    to.uid = from.uid();
    to.name = from.name();
    to.variation = from.variation();
    to.variationOf = from.variation_of();
    to.owner = from.owner();
    to.project = from.project();
    to.note = from.note();
    to.tags = texts(from.tags());
    to.state = stateOf(from.state());
    to.queuedReason = from.queued_reason();
    to.trouble = from.trouble();
    to.standsSinceMs = from.stands_since_ms();
    to.exitReason = from.exit_reason();
    to.attempt = from.attempt();
    to.restarts = from.restarts();
    to.createdMs = from.created_ms();
    to.startedMs = from.started_ms();
    to.endedMs = from.ended_ms();
    to.deletedMs = from.deleted_ms();
    to.purgedMs = from.purged_ms();
    to.progress = progressOf(from.progress());
    to.latestMetrics = listOf(from.latest_metrics(), &pointOf);
    to.bestMetrics = listOf(from.best_metrics(), &pointOf);
    if (from.has_mean_samples_per_second()) {
        to.meanRate = from.mean_samples_per_second();
    }
    to.specHash = from.spec_hash();
    to.streamHash = from.stream_hash();
    to.group = from.group();
    to.model = from.model();
    to.dataset = pathsOf(from.dataset());
    to.host = from.host();
    to.revision = from.revision();
    to.rowsRead = from.rows_read();
    to.rowsKept = from.rows_kept();
    to.rowsTrained = from.rows_trained();
    to.orderHash = from.order_hash();
    to.evalOrderHash = from.eval_order_hash();
    to.params = texts(from.params());
    return to;
}

SpecError toValue(const v1::SpecError& from) {
    return {from.message(),
            from.code(),
            from.file(),
            from.path(),
            static_cast<int>(from.line()),
            static_cast<int>(from.column())};
}

RunDetail toValue(const v1::GetRunResponse& from) {
    RunDetail to;
    to.summary = toValue(from.summary());
    to.specText = from.spec_text();
    to.specFileName = from.spec_file_name();
    to.resolvedSpec = from.resolved_spec();
    to.planHash = from.plan_hash();
    to.planFiles = from.plan_files();
    to.planSplits = from.plan_splits();
    to.planRows = from.plan_rows();
    to.planBytes = static_cast<std::int64_t>(from.plan_bytes());
    if (from.has_receipt()) {
        to.receipt = receiptOf(from.receipt());
    }
    to.params = texts(from.params());
    to.weightsHash = weightsHashOf(to);
    to.packages = texts(from.packages());
    to.checkpoints = listOf(from.checkpoints(), &checkpointOf);
    to.git = gitOf(from.git());
    to.workers = listOf(from.workers(), &workerOf);
    to.events = listOf(from.events(), &eventOf);
    to.directory = from.directory();
    to.hardware = from.hardware();
    to.metricNames = textList(from.metric_names());
    to.sets = textList(from.sets());
    return to;
}

SubmitReply toValue(const v1::SubmitResponse& from) {
    SubmitReply to;
    for (const auto& run : from.runs()) {
        to.runs.push_back(toValue(run));
    }
    to.errors = listOf(from.errors(), &specErrorOf);
    to.warnings = listOf(from.warnings(), &specErrorOf);
    to.wasKnown = from.was_known();
    return to;
}

MetricSeries toValue(const v1::MetricSeries& from) {
    const values::MetricSeries series = convert::fromProto(from);
    MetricSeries to;
    to.name = series.key;
    to.isDecimated = series.isDecimated;
    to.problem = series.problem;
    to.pointsTotal = static_cast<std::uint64_t>(series.numPoints);
    bool isOfRanks = false;
    for (const values::MetricPoint& point : series.points) {
        to.steps.push_back(point.step);
        to.timesMs.push_back(point.timeMs);
        to.rows.push_back(point.rows);
        to.values.push_back(point.value);
        to.ranks.push_back(point.ranks);
        isOfRanks = isOfRanks || point.ranks.has_value();
    }
    if (!isOfRanks) {
        to.ranks.clear();
    }
    return to;
}

RunUpdate toValue(const v1::RunUpdate& from) {
    return {toValue(from.run()), from.is_removed(), from.is_snapshot_end()};
}

MetricChunk toValue(const v1::MetricChunk& from) {
    return convert::fromProto(from);
}

LogChunk toValue(const v1::LogChunk& from) {
    return {listOf(from.lines(), &lineOf), from.cursor(), from.is_end(), from.dropped_lines()};
}

NodeInfo toValue(const v1::NodeInfo& from) {
    NodeInfo to;
    to.name = from.name();
    to.version = from.version();
    to.os = from.os();
    to.cpuModel = from.cpu_model();
    to.gpuNote = from.gpu_note();
    to.stateDir = from.state_dir();
    to.address = from.address();
    to.isHead = from.is_head();
    to.cores = static_cast<int>(from.cores());
    to.pid = from.pid();
    to.memoryBytes = from.memory_bytes();
    to.startedMs = from.started_ms();
    to.gpus = listOf(from.gpus(), &gpuOf);
    return to;
}

NodeSample toValue(const v1::NodeSample& from) {
    NodeSample to;
    to.node = from.node();
    to.timeMs = from.time_ms();
    to.cpuPercent = OPTIONAL_FIELD(from, cpu_percent);
    to.load1 = OPTIONAL_FIELD(from, load1);
    to.corePercent.assign(from.core_percent().begin(), from.core_percent().end());
    to.memoryUsedBytes = OPTIONAL_FIELD(from, memory_used_bytes);
    to.memoryTotalBytes = OPTIONAL_FIELD(from, memory_total_bytes);
    to.diskFreeBytes = OPTIONAL_FIELD(from, disk_free_bytes);
    to.diskTotalBytes = OPTIONAL_FIELD(from, disk_total_bytes);
    to.diskReadBytesPerSecond = OPTIONAL_FIELD(from, disk_read_bytes_per_second);
    to.diskWriteBytesPerSecond = OPTIONAL_FIELD(from, disk_write_bytes_per_second);
    to.networkReceiveBytesPerSecond = OPTIONAL_FIELD(from, network_receive_bytes_per_second);
    to.networkSendBytesPerSecond = OPTIONAL_FIELD(from, network_send_bytes_per_second);
    to.gpus = listOf(from.gpus(), &gpuSampleOf);
    to.processes = listOf(from.processes(), &processOf);
    return to;
}

DaemonStatus toValue(const v1::DaemonStatusResponse& from) {
    DaemonStatus to;
    to.version = from.version();
    to.address = from.address();
    to.stateDir = from.state_dir();
    to.binDir = from.bin_dir();
    to.pid = from.pid();
    to.startedMs = from.started_ms();
    to.runsRunning = from.runs_running();
    to.runsQueued = from.runs_queued();
    to.runsTotal = static_cast<std::int64_t>(from.runs_total());
    to.warnings = textList(from.warnings());
    return to;
}

v1::SubmitRequest toMessage(const SubmitRequest& from) {
    v1::SubmitRequest to;
    to.set_spec_text(from.specText);
    to.set_file_name(from.fileName);
    to.set_base_dir(from.baseDir);
    to.mutable_variations()->Add(from.variations.begin(), from.variations.end());
    to.set_all_variations(from.allVariations);
    to.set_without_base(from.withoutBase);
    to.mutable_sets()->Add(from.sets.begin(), from.sets.end());
    to.set_key(from.key);
    to.set_owner(from.owner);
    to.set_project(from.project);
    to.set_note(from.note);
    to.mutable_tags()->insert(from.tags.begin(), from.tags.end());
    to.mutable_packages()->insert(from.packages.begin(), from.packages.end());
    v1::GitFacts* git = to.mutable_git();
    git->set_commit(from.git.commit);
    git->set_branch(from.git.branch);
    git->set_is_dirty(from.git.isDirty);
    git->set_remote(from.git.remote);
    return to;
}

v1::ListRunsRequest toMessage(const ListRequest& from) {
    v1::ListRunsRequest to;
    to.set_filter(from.filter);
    to.mutable_order_by()->Add(from.orderBy.begin(), from.orderBy.end());
    to.set_page_size(static_cast<std::uint32_t>(from.pageSize));
    to.set_page_token(from.pageToken);
    to.set_with_params(from.withParams);
    to.set_with_system_metrics(from.withSystemMetrics);
    to.set_changes_since(from.changesSince);
    to.set_view(from.view == RunView::kAll       ? v1::RUN_VIEW_ALL
                : from.view == RunView::kDeleted ? v1::RUN_VIEW_DELETED
                                                 : v1::RUN_VIEW_ACTIVE);
    return to;
}

v1::MetricRangeRequest toMessage(const MetricRangeRequest& from) {
    v1::MetricRangeRequest to;
    to.set_run(from.run);
    to.mutable_names()->Add(from.names.begin(), from.names.end());
    to.set_from_step(from.fromStep);
    to.set_to_step(from.toStep);
    to.set_max_points(static_cast<std::uint32_t>(from.maxPoints));
    to.set_with_system(from.withSystem);
    if (from.rank != values::kNoRank) {
        to.set_rank(from.rank);
    }
    return to;
}

v1::LogsRequest toMessage(const LogsRequest& from) {
    v1::LogsRequest to;
    to.set_run(from.run);
    to.mutable_workers()->Add(from.workers.begin(), from.workers.end());
    to.set_tail_lines(static_cast<std::uint32_t>(from.tailLines));
    to.set_follow(from.follow);
    to.set_cursor(from.cursor);
    return to;
}

}  // namespace millrace::client

#pragma once
// The names of Millrace's own metrics, defined once for reporters, storage and user interfaces.
// Their meaning, units and labels: app/session/metric_catalogue.h.
//
// Plain arrays, so that they serve as keys, string views and texts without a conversion.
// Threads: any.
#include <array>
#include <string>
#include <string_view>

namespace millrace::values::metric {

// Metrics of the run; rank 0 reports them.
inline constexpr char kLoss[] = "loss";
inline constexpr char kSamplesPerSecond[] = "samples_per_second";
inline constexpr char kGradientNorm[] = "gradient_norm";
inline constexpr char kLearningRate[] = "learning_rate";
inline constexpr char kTableLearningRate[] = "learning_rate.embeddings";
inline constexpr char kTableRowsTouched[] = "embedding.rows_touched";
inline constexpr char kTablePrefix[] = "embedding.";  // followed by the table's name
inline constexpr char kUsedPercent[] = "used_percent";
inline constexpr char kStepsWithoutWeight[] = "steps_without_weight";

// Metrics of an evaluation: "eval." or "eval.HEAD." and one of these.
inline constexpr char kEvalPrefix[] = "eval.";
inline constexpr char kAuc[] = "auc";
inline constexpr char kNormalizedEntropy[] = "normalized_entropy";
inline constexpr char kLogLoss[] = "log_loss";
inline constexpr char kCalibration[] = "calibration";
inline constexpr char kRows[] = "rows";
inline constexpr char kPositives[] = "positives";
inline constexpr char kRowsWithoutLabel[] = "rows_without_label";
inline constexpr char kEvalAuc[] = "eval.auc";
inline constexpr char kEvalNormalizedEntropy[] = "eval.normalized_entropy";
inline constexpr char kEvalRows[] = "eval.rows";
inline constexpr char kEvalPositives[] = "eval.positives";

// Metrics that a worker measures of itself.
inline constexpr char kInputStallPercent[] = "input_stall_percent";
inline constexpr char kRankStepMs[] = "rank.step_ms";
inline constexpr char kRankWaitMs[] = "rank.wait_ms";
inline constexpr char kTrainerCpuPercent[] = "trainer.cpu_percent";
inline constexpr char kTrainerInputMs[] = "trainer.input_ms";
inline constexpr char kTrainerForwardMs[] = "trainer.forward_ms";
inline constexpr char kTrainerBackwardMs[] = "trainer.backward_ms";
inline constexpr char kTrainerCommunicationMs[] = "trainer.communication_ms";
inline constexpr char kTrainerOptimizerMs[] = "trainer.optimizer_ms";
inline constexpr char kTrainerCheckpointMs[] = "trainer.checkpoint_ms";
inline constexpr char kTrainerDeviceMemoryBytes[] = "trainer.device_memory_bytes";
inline constexpr char kLoaderRowsReadPerSecond[] = "loader.rows_read_per_second";
inline constexpr char kLoaderRowsKeptPerSecond[] = "loader.rows_kept_per_second";
inline constexpr char kLoaderCpuPercent[] = "loader.cpu_percent";
inline constexpr char kLoaderDataWorkers[] = "loader.data_workers";
inline constexpr char kLoaderDataWorkersWanted[] = "loader.data_workers_wanted";
inline constexpr char kLoaderRelayBytesPerSecond[] = "loader.relay_bytes_per_second";

// Metrics that the daemon measures alongside a run.
inline constexpr char kSystemCpuPercent[] = "system.cpu_percent";
inline constexpr char kSystemMemoryUsedBytes[] = "system.memory_used_bytes";
/// In the order of PhaseTimes::parts().
inline constexpr std::array<const char*, 6> kSystemTimes = {
    "system.time.busy_ms",       "system.time.stall_ms", "system.time.evaluate_ms",
    "system.time.checkpoint_ms", "system.time.start_ms", "system.time.ending_ms"};
/// How long the run, or the rank, has not got on; part of the times above.
inline constexpr char kSystemStandingMs[] = "system.time.standing_ms";
inline constexpr char kGpuPrefix[] = "system.gpu";  // and the GPU's number
inline constexpr char kGpuUtilizationPercent[] = "utilization_percent";
inline constexpr char kGpuMemoryUsedBytes[] = "memory_used_bytes";

/// "embedding.users.used_percent".
inline std::string ofTable(std::string_view table, std::string_view figure) {
    return kTablePrefix + std::string(table) + "." + std::string(figure);
}

/// "system.gpu0.utilization_percent".
inline std::string ofGpu(int gpu, std::string_view figure) {
    return kGpuPrefix + std::to_string(gpu) + "." + std::string(figure);
}

}  // namespace millrace::values::metric

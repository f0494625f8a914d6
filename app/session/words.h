#pragma once
// The words for what people see of runs, nodes and their figures: one entry for each thing, with
// its key, its heading in a terminal's table, its name in a sentence, its unit and its number
// format.
//
// The command line, the terminal views and the console take their words from here;
// docs/reference/words.md is made from it. The words for metrics are in the metric catalogue, which
// takes those of samples/s and the input stall from here; the names of states and phases are in
// backend/values/run_state.h. Threads: any.
#include <span>
#include <string>

namespace millrace::session {

/// How a value is written; the functions are in app/session/figures.h.
enum class WordFormat {
    kText,
    kCount,     ///< "241,683"
    kFigure,    ///< "0.7934", "1.05 M"
    kPercent,   ///< "36 %", "3.4 %", "0 %"
    kBytes,     ///< "1.2 GB"
    kDuration,  ///< "5.0 s", "3 m 20 s", "2 h 05 m"
    kTime,      ///< local time with its zone, or an age
    kHash
};

/// Plain arrays of characters, so that a word serves as text, string view and QString.
struct Word {
    const char* key;      ///< in JSON; keys never change with the words for people
    const char* heading;  ///< of a column in a terminal
    const char* label;    ///< in a sentence; the console's titles are this with a capital letter
    const char* unit;     ///< of the value; "": none, or it is written with the value
    WordFormat format;
    const char* what;  ///< a sentence without a full stop
};

// clang-format off
namespace word {
using F = WordFormat;

// A run.
inline constexpr Word kRun{"id", "RUN", "run", "", F::kText, "the run's id"};
inline constexpr Word kUid{"uid", "UID", "uid", "", F::kText, "the run's id in full"};
inline constexpr Word kName{"name", "NAME", "name", "", F::kText, "the spec's `name`"};
inline constexpr Word kVariation{"variation", "VARIATION", "variation", "", F::kText, "the variation's name; empty for the base"};
inline constexpr Word kState{"state", "STATE", "state", "", F::kText, "current state of the run"};
inline constexpr Word kReason{"reason", "REASON", "reason", "", F::kText, "why the run waits, failed or was cancelled; what is wrong"};
inline constexpr Word kOwner{"owner", "OWNER", "owner", "", F::kText, "`owner` of the spec, else the user who submitted the run; over TLS always the certificate's name"};
inline constexpr Word kProject{"project", "PROJECT", "project", "", F::kText, "project that the run belongs to"};
inline constexpr Word kTags{"tags", "TAGS", "tags", "", F::kText, "the run's tags"};
inline constexpr Word kNote{"note", "NOTE", "note", "", F::kText, "free text, Markdown"};
inline constexpr Word kModel{"model", "MODEL", "model", "", F::kText, "`model.type` of the spec"};
inline constexpr Word kDataset{"dataset", "DATASET", "dataset", "", F::kText, "the dataset's paths as written"};
inline constexpr Word kNode{"host", "NODE", "node", "", F::kText, "the node of rank 0; for a worker, the worker's node"};

// Its times.
inline constexpr Word kCreated{"created", "CREATED", "created", "", F::kTime, "when the run was submitted"};
inline constexpr Word kStarted{"started", "STARTED", "started", "", F::kTime, "when the first worker was started"};
inline constexpr Word kEnded{"ended", "ENDED", "ended", "", F::kTime, "when the run ended"};
inline constexpr Word kDeleted{"deleted", "DELETED", "deleted", "", F::kTime, "when the run was deleted; `rm --undo` restores it"};
inline constexpr Word kDuration{"duration", "DURATION", "duration", "", F::kDuration, "time from the first start to the last end, or until now; pauses before a resume count"};
inline constexpr Word kTimeLeft{"seconds_left", "TIME LEFT", "time left", "", F::kDuration, "estimated time for the remaining steps"};
inline constexpr Word kAttempt{"attempt", "ATTEMPT", "attempt", "", F::kCount, "number of the newest attempt, from 1"};
inline constexpr Word kRestarts{"restarts", "RESTARTS", "restarts", "", F::kCount, "number of automatic restarts"};

// Its progress.
inline constexpr Word kProgress{"progress", "PROGRESS", "progress", "", F::kPercent, "share of the steps that are done"};
inline constexpr Word kStep{"step", "STEP", "step", "", F::kCount, "the last optimizer step"};
inline constexpr Word kEpoch{"epoch", "EPOCH", "epoch", "", F::kCount, "from 0; \"epoch 2 of 8\" in sentences counts from 1"};
inline constexpr Word kRate{"samples_per_second", "SAMPLES/S", "samples/s", "rows/s", F::kFigure, "rows trained per second: the mean for a run that has ended, else the value of the last report"};
inline constexpr Word kStall{"input_stall_percent", "STALL", "input stall", "", F::kPercent, "share of the time that the ranks waited for data: \"now\" over the last seconds, \"run\" over the whole run"};

// Its rows.
inline constexpr Word kRowsScanned{"rows_scanned", "SCANNED", "rows scanned", "rows", F::kCount, "rows of the files that the plan names"};
inline constexpr Word kRowsPruned{"rows_pruned", "PRUNED", "rows pruned", "rows", F::kCount, "rows that were not read, because a file's statistics exclude them"};
inline constexpr Word kRowsRead{"rows_read", "ROWS READ", "rows read", "rows", F::kCount, "rows read from the dataset"};
inline constexpr Word kRowsKept{"rows_kept", "KEPT", "rows kept", "rows", F::kCount, "rows that the recipe kept"};
inline constexpr Word kRowsTrained{"rows_trained", "TRAINED", "rows trained", "rows", F::kCount, "rows of committed steps, all epochs"};

// Hashes: two runs with an equal one have the same.
inline constexpr Word kSpecHash{"spec_hash", "SPEC HASH", "spec hash", "", F::kHash, "equal if the resolved specs are equal"};
inline constexpr Word kStreamHash{"stream_hash", "STREAM HASH", "stream hash", "", F::kHash, "equal if data, recipe and order are the same"};
inline constexpr Word kPlanHash{"plan_hash", "PLAN HASH", "plan hash", "", F::kHash, "equal if the plans name the same files, splits and tables"};
inline constexpr Word kOrderHash{"order_hash", "ORDER HASH", "order hash", "", F::kHash, "equal if rows at the same positions of the files were trained in the same order"};
inline constexpr Word kEvaluationHash{"eval_order_hash", "EVALUATION HASH", "evaluation hash", "", F::kHash, "equal if runs were evaluated on rows at the same positions of their files"};
inline constexpr Word kWeightsHash{"weights_hash", "WEIGHTS HASH", "weights hash", "", F::kHash, "equal if the final weights are equal"};

// A node and a worker on it.
inline constexpr Word kCpu{"cpu_percent", "CPU", "CPU", "", F::kPercent, "for a node, share of all its cores; for a worker, share of one core"};
inline constexpr Word kMemory{"memory_bytes", "MEMORY", "memory", "", F::kBytes, "memory in use, and the node's total memory"};
inline constexpr Word kGpu{"gpus", "GPU", "GPU", "", F::kPercent, "a GPU and its utilization"};
inline constexpr Word kCores{"cores", "CORES", "cores", "", F::kCount, "the node's processor cores"};

// A metric, a checkpoint, and a column of a dataset.
inline constexpr Word kMetric{"metrics", "METRIC", "metric", "", F::kText, "a metric's label, or its name"};
inline constexpr Word kNewest{"value", "NEWEST", "newest", "", F::kFigure, "the metric's newest value"};
inline constexpr Word kBest{"best", "BEST", "best", "", F::kFigure, "the metric's best value so far"};
inline constexpr Word kWritten{"time", "WRITTEN", "written", "", F::kTime, "when the checkpoint was written"};
inline constexpr Word kSize{"bytes", "SIZE", "size", "", F::kBytes, "of a checkpoint or a file"};
inline constexpr Word kPath{"path", "PATH", "path", "", F::kText, "of a checkpoint or a file"};
inline constexpr Word kColumn{"columns", "COLUMN", "column", "", F::kText, "a column of the dataset"};
inline constexpr Word kType{"type", "TYPE", "type", "", F::kText, "the column's type"};
inline constexpr Word kNulls{"nulls", "NULLS", "nulls", "rows", F::kCount, "rows without a value"};
inline constexpr Word kOnDisk{"disk_bytes", "DISK", "on disk", "", F::kBytes, "bytes of the files"};
inline constexpr Word kDecoded{"decoded_bytes", "DECODED", "decoded", "", F::kBytes, "bytes in memory"};
inline constexpr Word kMin{"min", "MIN", "min", "", F::kText, "the smallest value, if the files have statistics"};
inline constexpr Word kMax{"max", "MAX", "max", "", F::kText, "the largest value, if the files have statistics"};
inline constexpr Word kEncoding{"encoding", "ENCODING", "encoding", "", F::kText, "how the file writes the column's values"};
inline constexpr Word kCodec{"codec", "CODEC", "codec", "", F::kText, "how the file compresses the column's values"};
}  // namespace word
// clang-format on

/// All of the above, in this order.
std::span<const Word* const> words();
/// The table of docs/reference/words.md.
std::string wordTable();

}  // namespace millrace::session

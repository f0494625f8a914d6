#pragma once
// Requests and replies about specs and datasets (proto/millrace/v1/inspect.proto).
//
// An empty optional means unknown, never zero.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/values/submit.h"

namespace millrace::values {

/// A spec that is being written.
struct SpecSource {
    std::string text, fileName, baseDir;  ///< baseDir: absolute
    std::vector<std::string> sets;
    bool operator==(const SpecSource&) const = default;
};

struct ColumnInfo {
    std::string name, type;  ///< "list<int64>"
    bool isNullable = false;
    std::optional<std::int64_t> nulls;
    std::optional<std::uint64_t> diskBytes, decodedBytes;
    std::string min, max, encoding, codec;  ///< "" unknown
    bool operator==(const ColumnInfo&) const = default;
};

struct CheckRequest {
    SpecSource spec;
    std::vector<std::string> variations;
    bool allVariations = false, withoutBase = false;
    bool operator==(const CheckRequest&) const = default;
};
struct CheckedRun {
    std::string variation, resolvedSpec, specHash, streamHash;
    std::int64_t rows = 0, files = 0, splits = 0;
    std::string planHash{};
    bool operator==(const CheckedRun&) const = default;
};
struct CheckReply {
    std::vector<SpecError> errors, warnings;
    std::vector<CheckedRun> runs;     ///< the base first; empty if there are errors
    std::vector<ColumnInfo> columns;  ///< the dataset's, if it could be opened
    std::vector<ColumnInfo> derived;  ///< columns that the base's recipe adds
    bool operator==(const CheckReply&) const = default;
};

struct DatasetRequest {
    std::vector<std::string> paths;  ///< empty: those of `spec`
    std::string baseDir, format;
    SpecSource spec;
    std::int64_t filesMax = 0;  ///< 0: 1000
    bool operator==(const DatasetRequest&) const = default;
};
struct RowGroupInfo {
    std::int64_t rows = 0;
    std::uint64_t diskBytes = 0, decodedBytes = 0;  ///< decodedBytes 0: unknown
    bool operator==(const RowGroupInfo&) const = default;
};
struct DatasetFile {
    std::string path;
    std::uint64_t bytes = 0;
    std::int64_t rows = 0;
    std::vector<RowGroupInfo> rowGroups;
    bool operator==(const DatasetFile&) const = default;
};
struct LeftOutColumn {
    std::string name, why;  ///< why: the text after its name, "is a map<string, int64>: ..."
    bool operator==(const LeftOutColumn&) const = default;
};
struct DatasetReply {
    std::vector<SpecError> errors;
    std::string format;
    std::vector<DatasetFile> files;
    std::int64_t filesTotal = 0, rows = 0, rowGroups = 0;
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> decodedBytes;
    std::vector<ColumnInfo> columns;
    std::vector<LeftOutColumn> leftOut;  ///< columns that cannot be features
    bool operator==(const DatasetReply&) const = default;
};

struct StepsRequest {
    SpecSource spec;
    std::string variation;  ///< "": the base
    std::int64_t rows = 0;  ///< before the recipe; 0: 50
    std::int64_t split = 0, firstRow = 0;
    bool operator==(const StepsRequest&) const = default;
};
struct SampleColumn {
    std::string name, type;
    std::vector<std::string> values;  ///< one per row, as text
    std::vector<bool> isNull;         ///< one per row; empty: no nulls
    bool operator==(const SampleColumn&) const = default;
};
/// The rows after a step.
struct SampleStage {
    std::string step, kind, text;  ///< the first: "dataset"
    bool isEnabled = true;
    std::vector<SampleColumn> columns;
    std::vector<std::int64_t> rowIds;  ///< row within the split; stages match rows by it
    std::int64_t rowsIn = 0, rowsOut = 0;
    bool operator==(const SampleStage&) const = default;
};
struct StepsReply {
    std::vector<SpecError> errors;
    std::vector<SampleStage> stages;
    std::int64_t splits = 0, splitRows = 0;
    bool operator==(const StepsReply&) const = default;
};

struct PreviewRequest {
    SpecSource spec;
    std::string variation;     ///< "": the base
    double seconds = 0;        ///< for samples; 0: 3
    std::int64_t threads = 0;  ///< of the loader; 0: the spec's, else one per core
    bool operator==(const PreviewRequest&) const = default;
};
/// A figure for the whole dataset, estimated from some of its splits.
struct Estimate {
    double value = 0;
    std::optional<double> low, high;  ///< 95 %; empty: one split gives no interval
    bool isExact = false;             ///< every split was read
    bool operator==(const Estimate&) const = default;
};
struct PreviewHead {
    std::string name;
    Estimate labelled, positives, positiveShare;  ///< rows, rows, 0 to 1
    bool operator==(const PreviewHead&) const = default;
};
/// The rows that a variation would keep per epoch, and its cost.
struct PreviewReply {
    std::vector<SpecError> errors;  ///< empty: the figures are valid
    std::int64_t splits = 0, splitsSampled = 0, rows = 0, threads = 0;
    Estimate rowsKept, keepShare, epochSeconds;
    std::vector<PreviewHead> heads;
    bool operator==(const PreviewReply&) const = default;
};

/// Each of the runs (ids) is compared with the first.
inline constexpr std::size_t kPairsMost = 100;
struct PairRequest {
    std::vector<std::string> runs;
    bool operator==(const PairRequest&) const = default;
};
/// A head of both runs: mean log loss of the rows that both scored with the same label.
struct PairedHead {
    std::string name;
    std::int64_t rows = 0, rowsOfOtherLabels = 0;  ///< the latter are left out
    double logLoss = 0, logLossOfFirst = 0;        ///< NaN without rows
    double logLossDifference = 0;                  ///< this run minus the first: below 0 is better
    double share = 0;  ///< rows: of the larger set of labelled rows, 0 to 1; 0 from an older daemon
    bool operator==(const PairedHead&) const = default;
};
/// A file that is not the same in two runs. A hash is "" if that run did not read it.
struct FileDifference {
    std::string path, hashOfFirst{}, hash{};
    std::int64_t bytesOfFirst = 0, bytes = 0;
    bool operator==(const FileDifference&) const = default;
};
struct RunPair {
    std::string run;
    bool hasScores = false;  ///< both runs have scores
    std::string problem;     ///< why the scores cannot be read, one sentence
    std::int64_t rows = 0;   ///< scored by both
    double share = 0;        ///< of the larger set of scored rows, 0 to 1
    bool isSample = false;   ///< one of them kept only its lowest keys
    std::vector<PairedHead> heads;
    std::vector<std::string> without;  ///< which of the two runs have no scores
    bool knowsFiles = false;           ///< both plans are known; if false, the rest is empty
    /// A file that both were evaluated on, or a table that both joined, has other content.
    bool evaluatedOtherContent = false;
    bool trainedOnOtherFiles = false;   ///< likewise of the training streams
    std::vector<FileDifference> files;  ///< the first 20 of filesTotal
    std::int64_t filesTotal = 0;
    bool operator==(const RunPair&) const = default;
};
struct PairReply {
    std::vector<RunPair> pairs;  ///< one per run except the first, in order
    bool operator==(const PairReply&) const = default;
};

}  // namespace millrace::values

#pragma once
// What a run really read, as faces see it: files, rows by step, unknown ids, hashes.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::values {

struct FileReceipt {
    std::string path, footerHash;
    std::uint64_t bytes = 0;
    std::int64_t rows = 0;  ///< -1: not known, or no table (the rules of a time zone)
    bool operator==(const FileReceipt&) const = default;
};
struct StepReason {
    std::string name;
    std::int64_t rows = 0;
    bool operator==(const StepReason&) const = default;
};
struct StepReceipt {
    std::string step;
    std::int64_t rowsIn = 0, rowsOut = 0;
    std::vector<StepReason> reasons{};  ///< by name; none with 0 rows
    bool operator==(const StepReceipt&) const = default;
};
struct VocabularyReceipt {
    std::string feature;
    std::int64_t ids = 0, unknown = 0;  ///< unknown: of the ids
    /// Of the ids; 0 without any.
    double unknownPercent() const {
        return ids > 0 ? 100.0 * static_cast<double>(unknown) / static_cast<double>(ids) : 0;
    }
    bool operator==(const VocabularyReceipt&) const = default;
};
/// Rows that count for a head but have no label: they are masked.
struct LabelReceipt {
    std::string head;
    std::int64_t nulls = 0, nans = 0;
    bool operator==(const LabelReceipt&) const = default;
};
/// What data workers did for a run, over all its attempts.
struct DataWorkersReceipt {
    std::int64_t segments = 0;  ///< that they computed and a feed delivered
    double cpuSeconds = 0;
    std::uint64_t frameBytes = 0;    ///< of these segments, as the ranks read them
    std::uint64_t networkBytes = 0;  ///< of frames between machines
    double linkMbPerSecond = 0;      ///< that the codecs were chosen for; 0: they were not
    std::vector<std::string> columns, codecs;  ///< of the last attempt: a column's name, its codec

    bool isEmpty() const { return segments == 0 && cpuSeconds == 0; }
    bool operator==(const DataWorkersReceipt&) const = default;
};
/// What workers of a role took, over all attempts of a run.
struct RoleCost {
    std::string role;  ///< "ranks", "feed", "relays"
    double cpuSeconds = 0;
    std::int64_t peakMemoryBytes = 0;  ///< of the largest process
    bool operator==(const RoleCost&) const = default;
};
struct Receipt {
    std::vector<FileReceipt> files, sideTables;  ///< of many files the first 1,000
    std::int64_t filesTotal = 0;                 ///< 0: `files` are all
    std::vector<StepReceipt> steps;
    std::vector<VocabularyReceipt> vocabularies;  ///< by feature
    std::vector<LabelReceipt> labels;             ///< by head; those with a row without a label
    DataWorkersReceipt dataWorkers;
    std::vector<RoleCost> costs;  ///< by role; none in receipts of older versions
    std::string orderHash, evalOrderHash, planHash;
    int orderHashVersion = 0;  ///< of both order hashes; those of two versions do not compare
    std::string json;          ///< the receipt as stored, with the files of `files`
    std::int64_t rowsScanned = 0, rowsPruned = 0, rowsKept = 0, rowsTrained = 0;
    /// The run ended inside a segment: rows trained end there, the others are of whole segments.
    bool endsInsideSegment = false;
    bool isOpenSegmentCounted = false;  ///< among them; false: its counts are not known

    /// Which segments the rows read, kept and by step are of: a sentence; "" where they are of
    /// exactly those that were trained on.
    std::string_view countedText() const;
    std::int64_t numFiles() const {
        return std::max(filesTotal, static_cast<std::int64_t>(files.size()));
    }
    bool operator==(const Receipt&) const = default;
};

}  // namespace millrace::values

#pragma once
// The data that a run actually read, for user interfaces: files, rows by step, unknown ids, hashes.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/values/frame_traffic.h"

namespace millrace::values {

struct FileReceipt {
    std::string path, footerHash;
    std::uint64_t bytes = 0;
    std::int64_t rows = 0;  ///< -1: unknown, or not a table (the rules of a time zone)
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
    std::vector<StepReason> reasons{};  ///< by name; only those with rows
    bool operator==(const StepReceipt&) const = default;
};
struct VocabularyReceipt {
    std::string feature;
    std::int64_t ids = 0, unknown = 0;          ///< unknown: of the ids
    std::int64_t evalIds = 0, evalUnknown = 0;  ///< of the last evaluation; 0: there was none
    /// Percentage of the ids; 0 without ids.
    double unknownPercent() const { return percentOf(unknown, ids); }
    double evalUnknownPercent() const { return percentOf(evalUnknown, evalIds); }
    static double percentOf(std::int64_t part, std::int64_t all) {
        return all > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0;
    }
    bool operator==(const VocabularyReceipt&) const = default;
};
/// Rows that count for a head but lack its label: they are masked.
struct LabelReceipt {
    std::string head;
    std::int64_t nulls = 0, nans = 0;
    bool operator==(const LabelReceipt&) const = default;
};
/// Work of data workers for a run, over all its attempts.
struct DataWorkersReceipt {
    std::int64_t segments = 0;  ///< computed by them and delivered by a feed
    double cpuSeconds = 0;
    std::uint64_t frameBytes = 0;    ///< of these segments, as read by the ranks
    std::uint64_t networkBytes = 0;  ///< of frames sent between machines
    /// Bytes that ranks on other nodes read: in frames that their relays fetched from data workers,
    /// and in frames that the leading feed sent.
    std::uint64_t directBytes = 0, carriedBytes = 0;
    double linkMbPerSecond = 0;  ///< link speed for which codecs were chosen; 0: not chosen
    std::vector<std::string> columns, codecs;  ///< of the last attempt: each column's name, and its
                                               ///< codec
    FrameTraffic traffic;                      ///< between machines

    bool isEmpty() const { return segments == 0 && cpuSeconds == 0; }
    /// The part of them that the leading feed sent; nothing: no rank was on another node.
    std::optional<double> leadShare() const { return leadShareOf(directBytes, carriedBytes); }
    bool operator==(const DataWorkersReceipt&) const = default;
};
/// Resources used by workers of a role, over all attempts of a run.
struct RoleCost {
    std::string role;  ///< "ranks", "feed", "relays"
    double cpuSeconds = 0;
    std::int64_t peakMemoryBytes = 0;  ///< of the largest process
    bool operator==(const RoleCost&) const = default;
};
struct Receipt {
    std::vector<FileReceipt> files, sideTables;  ///< the first 1,000, if there are more
    std::int64_t filesTotal = 0;                 ///< 0: `files` has all
    std::vector<StepReceipt> steps;
    std::vector<VocabularyReceipt> vocabularies;  ///< by feature
    std::vector<LabelReceipt> labels;             ///< by head; only those with missing labels
    DataWorkersReceipt dataWorkers;
    std::vector<RoleCost> costs;  ///< by role
    std::string orderHash, evalOrderHash, planHash;
    int orderHashVersion = 0;  ///< of both order hashes; different versions cannot be compared
    std::string json;          ///< the receipt as stored, with the files of `files`
    std::int64_t rowsScanned = 0, rowsPruned = 0, rowsKept = 0, rowsTrained = 0;
    /// The run ended inside a segment: the trained rows end there; other counts cover whole
    /// segments.
    bool endsInsideSegment = false;
    bool isOpenSegmentCounted = false;  ///< the other counts include that segment; false: its
                                        ///< counts are unknown

    /// A sentence on which segments the counts of rows read, kept and by step cover; "" if they
    /// cover exactly the segments that were trained on.
    std::string_view countedText() const;
    std::int64_t numFiles() const {
        return std::max(filesTotal, static_cast<std::int64_t>(files.size()));
    }
    bool operator==(const Receipt&) const = default;
};

}  // namespace millrace::values

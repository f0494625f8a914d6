#pragma once
// Receipt: the record of the rows that a run read, for the daemon and the CLI. It is made from a
// plan and the state of a rank's position.
//
// Threads: a value.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/stream/plan.h"
#include "backend/stream/state/stream_state.h"
#include "backend/text/json.h"

namespace millrace::stream {

struct ReceiptFile {
    std::string path, relativePath, footerHash;
    std::int64_t bytes = 0, rows = 0;
    bool operator==(const ReceiptFile&) const = default;
};

/// Number of a step's rows with one outcome: "null", "no partner".
struct ReceiptReason {
    std::string name;
    std::int64_t rows = 0;
    bool operator==(const ReceiptReason&) const = default;
};

struct ReceiptStep {
    std::string name;
    std::int64_t rowsIn = 0, rowsOut = 0;
    std::vector<ReceiptReason> reasons{};  ///< by name; none with 0 rows
    bool operator==(const ReceiptStep&) const = default;
};

/// Masked rows, in all epochs: rows that count for a head but have no label.
struct ReceiptLabel {
    std::string head;
    std::int64_t nulls = 0, nans = 0;
    bool operator==(const ReceiptLabel&) const = default;
};

/// Look-ups in a feature's vocabulary, in all epochs.
struct ReceiptVocabulary {
    std::string feature;
    std::int64_t ids = 0;      ///< that were not null
    std::int64_t unknown = 0;  ///< of these, not in the vocabulary
    bool operator==(const ReceiptVocabulary&) const = default;
};

struct Receipt {
    std::vector<ReceiptFile> files;
    std::vector<SideTable> sideTables;
    std::vector<ReceiptStep> steps;
    std::vector<ReceiptVocabulary> vocabularies;  ///< by feature
    std::vector<ReceiptLabel> labels;             ///< by head; only those that lack some labels
    std::int64_t rowsScanned = 0, rowsPruned = 0, rowsKept = 0, rowsDelivered = 0, rowsTrained = 0;
    std::string planHash, streamHash;
    std::string orderHash;  ///< hex
    int orderHashVersion = kOrderHashVersion;
    /// The state is inside a segment: rows delivered and trained end there, the other counts are of
    /// whole segments.
    bool endsInsideSegment = false;
    bool isOpenSegmentCounted = false;  ///< in the other counts; false: its record was not known
    bool operator==(const Receipt&) const = default;

    /// `stepNames` in recipe order; steps without a name are called "step N".
    static Receipt of(const Plan& plan, const StreamState& state,
                      const std::vector<std::string>& stepNames, std::int64_t rowsTrained);
    Json toJson() const;
};

}  // namespace millrace::stream

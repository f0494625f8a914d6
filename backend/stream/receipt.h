#pragma once
// What a run really read, and the state a rank's position is saved as (SEMANTICS 4).
//
// StreamState is what the C library's opaque text holds: cursor, order hash of this rank's frames
// and the sums of the segment records that lie wholly before the cursor. Receipt is the daemon's
// and the CLI's figure, made from a plan and a state.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/core/json.h"
#include "backend/stream/cursor.h"
#include "backend/stream/order_hash.h"
#include "backend/stream/plan.h"

namespace millrace::stream {

struct StepRows {
    std::int64_t in = 0, out = 0;
    bool operator==(const StepRows&) const = default;
};

/// Sums over segment records.
struct SegmentSums {
    std::int64_t segments = 0;
    std::int64_t rowsScanned = 0;  ///< all rows of the splits, pruned ones included
    std::int64_t rowsPruned = 0;
    std::int64_t rowsKept = 0;    ///< rows that leave the last step
    std::vector<StepRows> steps;  ///< in recipe order; a shorter list counts as zeros
    /// By name: "step/2/no partner", "ids/genres", "unknown/genres" (docs/formats/cursor.md).
    std::map<std::string, std::int64_t> counts{};
    /// False: some of the segments were summed up by a program that knew no counts. There are none.
    bool hasCounts = true;
    void add(const SegmentSums& other);
    bool operator==(const SegmentSums&) const = default;
};

struct StreamState {
    static constexpr int kVersion = 1;
    Cursor cursor;
    OrderHash orderHash;
    std::int64_t rowsDelivered = 0;  ///< rows of this rank's frames before the cursor
    SegmentSums sums;

    std::string toText() const;
    static Result<StreamState> fromText(std::string_view text);
    /// The state of all ranks at one cursor: order hash and rows add up, sums are rank 0's.
    static Result<StreamState> merge(const std::vector<StreamState>& ofRanks);
};

struct ReceiptFile {
    std::string path, relativePath, footerHash;
    std::int64_t bytes = 0, rows = 0;
    bool operator==(const ReceiptFile&) const = default;
};

/// Rows of a step by what happened to them: "null", "no partner".
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

/// What a feature's vocabulary was asked for, in all epochs.
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
    std::int64_t rowsScanned = 0, rowsPruned = 0, rowsKept = 0, rowsDelivered = 0, rowsTrained = 0;
    std::string planHash, streamHash;
    std::string orderHash;  ///< hex
    bool operator==(const Receipt&) const = default;

    /// `stepNames` in recipe order; steps without a name are called "step N".
    static Receipt of(const Plan& plan, const StreamState& state,
                      const std::vector<std::string>& stepNames, std::int64_t rowsTrained);
    Json toJson() const;
    static Result<Receipt> fromJson(const Json& json);
};

}  // namespace millrace::stream

#pragma once
// The pinned list of a run's inputs: files, their splits and identities, side tables.
// A plain value: room dataset builds it, the daemon stores it, every worker reads it.
//
// Threads: a value. Failure: fromJson() rejects inconsistent plans and names the place.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/text/json.h"

namespace millrace::stream {

/// A row group of a file, or a row range of a large one: the unit of reading.
struct PlanSplit {
    std::int64_t rowGroup = 0;      ///< the row group that holds it (CSV: its own number)
    std::int64_t firstRow = 0;      ///< within the file, from 0
    std::int64_t rows = 0;          ///< may be 0 for an empty row group
    std::int64_t decodedBytes = 0;  ///< estimate over the columns that the base reads
    std::int64_t partition = 0;     ///< batch.order by a column: index of its partition
    bool operator==(const PlanSplit&) const = default;
};

struct PlanFile {
    std::string path;          ///< absolute, or a URI; opened by readers
    std::string relativePath;  ///< below the glob's fixed part; the key of draws
    std::int64_t bytes = 0;
    std::string footerHash;  ///< XXH3-128 hex of the footer (CSV: of the content)
    std::int64_t rows = 0;
    std::vector<PlanSplit> splits;  ///< in file order, gapless, together `rows` rows
    bool operator==(const PlanFile&) const = default;
};

/// A table that a join loads whole.
struct SideTable {
    std::string path;
    std::int64_t bytes = 0;
    std::string hash;        ///< XXH3-128 hex of the content
    std::int64_t rows = -1;  ///< -1: unknown, or not a table
    bool operator==(const SideTable&) const = default;

    Json toJson() const;
};

inline constexpr std::size_t kCountedBytesMax = std::size_t{64} << 20;  ///< per plan, in base64

/// Values that were counted for embeddings (`vocabulary: auto`). The plan contains them, so that a
/// run has them wherever it is computed.
struct CountedTable {
    std::string hash;                         ///< under which the spec names them
    std::int64_t rows = 0;                    ///< number of values
    std::int64_t bytes = 0;                   ///< of the values in memory
    std::shared_ptr<const std::string> file;  ///< recipe::CountedValues as a file, in base64

    bool operator==(const CountedTable& other) const { return hash == other.hash; }
};

/// The reason for a segment's number of splits.
enum class SegmentRule {
    kGiven,  ///< batch.segment_splits, or a plan without a rule
    kAll,    ///< all splits fit one segment
    kRows,   ///< the default's bound on rows
    kBytes,  ///< the default's bound on decoded bytes
};

/// The rule's name in a plan: "given", "all", "rows", "bytes".
std::string_view nameOf(SegmentRule rule);

struct Plan {
    std::vector<PlanFile> files;
    std::vector<SideTable> sideTables;
    std::vector<CountedTable> countedTables;  ///< each hash once
    std::int64_t segmentSplits = 1;           ///< splits in a segment, at least 1
    SegmentRule segmentRule = SegmentRule::kGiven;
    std::vector<PlanFile> evalFiles;  ///< empty: evaluation reads `files`
    /// The columns of all files together, types widened, so that a worker need not read every
    /// footer before its first row. Excludes partition columns. Empty: not pinned.
    expr::Schema schema, evalSchema;
    bool operator==(const Plan&) const = default;

    const std::vector<PlanFile>& filesOfEval() const {
        return evalFiles.empty() ? files : evalFiles;
    }
    const expr::Schema& schemaOfEval() const { return evalFiles.empty() ? schema : evalSchema; }
    std::int64_t numSplits() const;
    std::int64_t numRows() const;

    /// XXH3-128 hex over receipt keys, relative paths, rows and partitions per split, and the
    /// hashes of counted values; never path, mtime, inode.
    std::string planHash() const;

    /// One line of JSON with sorted keys; written without a tree.
    std::string toJsonText() const;
    /// kInvalidArgument for a wrong shape, a gap between splits, a wrong sum of rows, two files of
    /// one relative path, or more than 2^22 files or 2^26 splits.
    static Result<Plan> fromJson(const Json& json);
};

}  // namespace millrace::stream

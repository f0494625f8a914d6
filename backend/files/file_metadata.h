#pragma once
// Facts of a data file that planning needs, and the options for reading it.
//
// Facts come from a Parquet or Arrow footer, or from a whole pass over a CSV file; they are cached
// in packs (facts_pack.h). Threads: values.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/files/csv_column.h"

namespace millrace::files {

/// Reading options: the part of the spec's dataset section that facts depend on.
struct ReadOptions {
    std::string format = "parquet";  ///< parquet, csv or arrow
    std::int64_t csvSplitRows = 65536;
    char csvDelimiter = ',';
    bool csvHasHeader = true;
    std::map<std::string, std::string> csvTypes;  ///< column -> type name given by the user
    char csvQuote = '"';                          ///< 0: none
    char csvComment = 0;                          ///< starts a comment line; 0: none
    std::int64_t csvSkipRows = 0;                 ///< lines before the header
    bool csvHasDecimalComma = false;
    std::vector<std::string> csvNullValues;  ///< empty: the usual words, except in text columns
    bool csvDropsBadRows = false;            ///< else bad rows are errors
    std::string csvKey = "dataset.csv";      ///< spec key with these options; for messages
    bool areMissingColumnsNull = false;      ///< dataset.missing_columns: null
    /// dataset.types: column -> type name. CSV files also have them in csvTypes.
    std::map<std::string, std::string> types;

    /// Identifies the options that affect a file's facts.
    std::string cacheKey() const;
    /// The options that change the values or rows read from a text. "" if only the delimiter and
    /// the header differ from the defaults: they are not part of a file's hash.
    std::string csvReading() const;
};

/// One row group (Parquet), record batch (Arrow) or stretch of whole records (CSV).
struct ColumnChunkMetadata {
    std::int64_t rows = 0;
    std::int64_t offset = 0;     ///< first byte in the file
    std::int64_t bytes = 0;      ///< bytes in the file
    std::int64_t firstLine = 0;  ///< CSV: line number of the first record, from 1
    /// Decoded bytes by column of FileMetadata::schema; CSV: a single number, bytes of
    /// text.
    std::vector<std::int64_t> decodedBytes;
    bool operator==(const ColumnChunkMetadata&) const = default;
};

struct FileMetadata {
    /// Includes rejected columns. A field of a CSV file without a name only keeps its place.
    expr::Schema schema;
    std::int64_t rows = 0;
    std::string contentHash;  ///< XXH3-128 of the footer; CSV: of the content and the reading
                              ///< options
    std::string etag;         ///< of the object's version with these facts; empty: unknown
    std::vector<ColumnChunkMetadata> chunks;
    // CSV only.
    std::vector<CsvColumn> csv;   ///< by column of `schema`, whose types are from this file only
    std::int64_t badRows = 0;     ///< dropped rows
    std::vector<CsvBadRows> bad;  ///< by reason; one of several lines is first
    bool isCompressed = false;    ///< offsets then refer to the text, not to the file
    bool operator==(const FileMetadata&) const = default;
};

/// The CSV-specific facts as one text; "" for other files.
std::string csvFactsText(const FileMetadata& facts);
/// kInvalidArgument "file facts: ..." for an invalid text.
Status readCsvFacts(std::string_view text, FileMetadata& facts);

}  // namespace millrace::files

#pragma once
// What planning needs to know of a data file, and how it is to be read.
//
// Facts come from a Parquet or Arrow footer or from a whole pass over a CSV file; they are kept in
// packs (facts_pack.h). Threads: values.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/files/csv_column.h"

namespace millrace::files {

/// How files are read: the part of the spec's dataset section that facts depend on.
struct ReadOptions {
    std::string format = "parquet";  ///< parquet, csv or arrow
    std::int64_t csvSplitRows = 65536;
    char csvDelimiter = ',';
    bool csvHasHeader = true;
    std::map<std::string, std::string> csvTypes;  ///< column -> type name given by the user
    char csvQuote = '"';                          ///< 0: none
    char csvComment = 0;                          ///< begins a line that is no record; 0: none
    std::int64_t csvSkipRows = 0;                 ///< lines before the header
    bool csvHasDecimalComma = false;
    std::vector<std::string> csvNullValues;  ///< empty: the usual words, but not in text columns
    bool csvDropsBadRows = false;            ///< else they are errors
    std::string csvKey = "dataset.csv";      ///< where the user says all this; for messages
    bool areMissingColumnsNull = false;      ///< dataset.missing_columns: null
    /// dataset.types: column -> type name. For CSV files they are among csvTypes too.
    std::map<std::string, std::string> types;

    /// Which facts they make of a file.
    std::string cacheKey() const;
    /// What makes other values or rows of the same text; "" where nothing does but the delimiter
    /// and the header, which are no part of a file's hash.
    std::string csvReading() const;
};

/// One row group (Parquet), record batch (Arrow) or stretch of whole records (CSV).
struct ChunkFacts {
    std::int64_t rows = 0;
    std::int64_t offset = 0;     ///< first byte in the file
    std::int64_t bytes = 0;      ///< bytes in the file
    std::int64_t firstLine = 0;  ///< CSV: line number of the first record, from 1
    /// Decoded bytes by column of FileFacts::schema (SEMANTICS 1); CSV: one number, bytes of text.
    std::vector<std::int64_t> decodedBytes;
    bool operator==(const ChunkFacts&) const = default;
};

struct FileFacts {
    /// With what is refused. A field of a CSV file without a name is only a place in its records.
    expr::Schema schema;
    std::int64_t rows = 0;
    std::string contentHash;  ///< XXH3-128 of the footer; CSV: of the content and how it is read
    std::string etag;         ///< of the object's version that they are of; empty: not told
    std::vector<ChunkFacts> chunks;
    // CSV alone.
    std::vector<CsvColumn> csv;  ///< by column of `schema`, whose types are this file's alone
    std::int64_t badRows = 0;    ///< left out
    CsvPlace firstBad;           ///< the first of them, and what is wrong with it
    bool isCompressed = false;   ///< offsets count the text then, not the file
    bool operator==(const FileFacts&) const = default;
};

/// The facts that CSV files alone have, as one text; "" for other files.
std::string csvFactsText(const FileFacts& facts);
/// kInvalidArgument "file facts: ..." for a text that is none.
Status readCsvFacts(std::string_view text, FileFacts& facts);

}  // namespace millrace::files

#pragma once
// Analysis of a block of records in the first pass: what it shows about the columns. Private to
// csv.
//
// Threads: CsvSniffer from any; a block belongs to one. Failure: as in csv_scan.h, for the first
// bad record.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/csv/csv_records.h"
#include "backend/csv/csv_values.h"
#include "backend/files/csv_column.h"
#include "backend/files/file_metadata.h"

namespace millrace::csv {

/// Why a record cannot be read.
struct CsvWrong {
    std::string reason;  ///< as CsvBadRows
    std::string text;    ///< a sentence; "": nothing is wrong
};

/// A dropped record: its number in the block, and the reason.
struct CsvBadRecord {
    std::size_t record = 0;
    CsvWrong wrong;
};

/// A piece of text split into records, and the results of look().
struct CsvBlock {
    explicit CsvBlock(const files::ReadOptions& options) : records(options) {}

    std::vector<char> buffer;  ///< holds `text` and kPaddingBytes after it
    std::string_view text;
    std::int64_t offset = 0, line = 0;  ///< of the start of the text in the file; lines from 1
    CsvRecords records;
    std::size_t firstRow = 0;  ///< earlier records are not rows

    std::vector<files::CsvColumn> columns;
    std::vector<CsvBadRecord> bad;
    Status error;
};

class CsvSniffer {
 public:
    /// `options`, and `schema` with the columns' names, outlive it.
    CsvSniffer(std::string path, const files::ReadOptions& options, const expr::Schema& schema);

    /// Fills columns, bad and error.
    void look(CsvBlock& block) const;
    /// Checks that a record's text is UTF-8.
    Status checkEncoding(const CsvBlock& block, const CsvRecord& record) const;
    Status notUtf8(std::int64_t line, std::string_view what, std::string_view encoding) const;

 private:
    Status checkRecords(CsvBlock& block) const;
    std::string wayOut(const CsvBlock& block) const;
    bool isTitle(const CsvBlock& block) const;
    CsvWrong whatIsWrong(const CsvBlock& block, const CsvRecord& record, std::string& memory) const;
    void lookAtColumn(CsvBlock& block, std::size_t column, std::string& memory) const;

    const std::string path_;
    const files::ReadOptions& options_;
    const expr::Schema& schema_;
    const CsvNulls nulls_;
    std::vector<expr::TypeKind> kinds_;  ///< by column: the given type, or kString
};

}  // namespace millrace::csv

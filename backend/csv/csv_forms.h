#pragma once
// What a block of records of the first pass shows of the columns. Private to the room.
//
// Threads: CsvLooker from any; a block belongs to one. Failure: as csv_scan.h says, for the first
// record that is wrong.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/csv/csv_records.h"
#include "backend/csv/csv_values.h"
#include "backend/files/csv_column.h"
#include "backend/files/file_facts.h"

namespace millrace::csv {

/// A record that is left out: its number in the block, and why.
struct CsvBadRecord {
    std::size_t record = 0;
    std::string wrong;  ///< of the first one, and of the first one of several lines
};

/// Text that was cut, and what look() sees in it.
struct CsvBlock {
    explicit CsvBlock(const files::ReadOptions& options) : records(options) {}

    std::vector<char> buffer;  ///< holds `text` and kPaddingBytes behind it
    std::string_view text;
    std::int64_t offset = 0, line = 0;  ///< of its begin in the file; lines from 1
    CsvRecords records;
    std::size_t firstRow = 0;  ///< records before it are no rows

    std::vector<files::CsvColumn> columns;
    std::vector<CsvBadRecord> bad;
    Status error;
};

class CsvLooker {
 public:
    /// `options`, and `schema` with the columns' names, outlive it.
    CsvLooker(std::string path, const files::ReadOptions& options, const expr::Schema& schema);

    /// Fills columns, bad and error.
    void look(CsvBlock& block) const;
    /// The text of a record is UTF-8.
    Status checkEncoding(const CsvBlock& block, const CsvRecord& record) const;
    Status notUtf8(std::int64_t line, std::string_view what, std::string_view encoding) const;

 private:
    Status checkRecords(CsvBlock& block) const;
    std::string whatIsWrong(const CsvBlock& block, const CsvRecord& record,
                            std::string& memory) const;
    void lookAtColumn(CsvBlock& block, std::size_t column, std::string& memory) const;

    const std::string path_;
    const files::ReadOptions& options_;
    const expr::Schema& schema_;
    const CsvNulls nulls_;
    std::vector<expr::TypeKind> kinds_;  ///< by column: the type that is given, or kString
};

}  // namespace millrace::csv

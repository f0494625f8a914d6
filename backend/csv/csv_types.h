#pragma once
// Infers the types of CSV columns from the first pass, for one file and for all files of a dataset
// together.
//
// A few values do not change a column's type. If at least 20 values have one type of number or
// time, and the others are at most 3, or at most 1 in 100 of these, the others are bad values.
// Threads: pure.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/files/csv_column.h"
#include "backend/files/file_list.h"
#include "backend/files/file_metadata.h"

namespace millrace::csv {

/// The common type of all values; kString if they have none in common, kNull if there are none.
/// Whole numbers that doubles cannot hold, next to fractions, make text, as do those of more than
/// 64 bits: no value is altered.
expr::TypeKind csvKind(const files::CsvColumn& column);

/// The type that `options.csvTypes` gives a column; kString if it gives none.
expr::TypeKind csvKindGiven(const files::ReadOptions& options, const std::string& column);

/// By column: the type from all files together, kNull if no file has a value; ignores
/// `options.csvTypes`. Appends remarks for the user to `notes`. Failure: kInvalidArgument
/// "PATH:LINE: column 'c': 'value' ..." for a bad value, unless bad rows are dropped.
using CsvKinds = std::map<std::string, expr::TypeKind>;
Result<CsvKinds> csvKinds(const std::vector<files::DataFile>& files,
                          const std::vector<std::shared_ptr<const files::FileMetadata>>& facts,
                          const files::ReadOptions& options, std::vector<std::string>& notes);

/// " (--csv SET)" where the options are the dataset's, which `head`, `dataset` and `init` take so.
std::string csvOption(const files::ReadOptions& options, std::string_view set);

/// Returns a hint that names the likely delimiter if a header of one field contains one of
/// `delimiters`; otherwise "".
std::string delimiterHint(const files::ReadOptions& options, const expr::Schema& schema,
                          std::string_view delimiters = ",;\t|");

/// For a file whose rows fit its header: delimiterHint(), also for blanks, or how to read the
/// header as a row if a column's name is a number with a fraction or a sign. Otherwise "".
std::string headerHint(const files::ReadOptions& options, const expr::Schema& schema);

}  // namespace millrace::csv

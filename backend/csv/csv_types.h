#pragma once
// The types of CSV columns: what follows from what the first pass saw, in one file and in all files
// of a dataset together.
//
// A few values do not change a column's type: where at least 20 values are of one type of number or
// time and the others are at most 3, or at most 1 in 100 of these, the others are bad values.
// Threads: pure.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/files/csv_column.h"
#include "backend/files/file_facts.h"
#include "backend/files/file_list.h"

namespace millrace::csv {

/// What all values have in common; kString where that is nothing, kNull where there are none. Whole
/// numbers that no double holds, next to fractions, are text, as are those of more than 64 bits: no
/// value becomes another one.
expr::TypeKind csvKind(const files::CsvColumn& column);

/// The type that `options.csvTypes` gives a column; kString where it gives none.
expr::TypeKind csvKindGiven(const files::ReadOptions& options, const std::string& column);

/// By column: the type that follows from all files together, kNull where none has a value; what
/// `options.csvTypes` gives is not looked at. `notes`: what is worth to know is added. Failure:
/// kInvalidArgument "PATH:LINE: column 'c': 'value' ..." for a bad value, unless they are left out.
using CsvKinds = std::map<std::string, expr::TypeKind>;
Result<CsvKinds> csvKinds(const std::vector<files::DataFile>& files,
                          const std::vector<std::shared_ptr<const files::FileFacts>>& facts,
                          const files::ReadOptions& options, std::vector<std::string>& notes);

}  // namespace millrace::csv

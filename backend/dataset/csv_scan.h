#pragma once
// The first pass over a CSV file: where records begin, how many there are, what types they have.
//
// Cuts the file at record borders into stretches of `csvSplitRows` records, counts rows, finds the
// narrowest type that every value of a column has (bool, int64, double, date, timestamp, string;
// all empty: null) and hashes the content. Quoted fields may hold delimiters, line ends and
// doubled quotes. An unquoted empty field is null.
// Failure: kInvalidArgument "PATH:LINE: ..." for a row with a wrong number of fields, an
// unterminated quote, a header with an empty or repeated name.
#include "backend/dataset/file_facts.h"

namespace millrace::dataset {

Result<FileFacts> scanCsv(const DataFile& file, const ReadOptions& options);

/// The narrowest type of one unquoted value, as scanCsv pins it.
spec::TypeKind csvTypeOf(std::string_view text);

/// The narrowest type that values of both types have: int64 and double are double, date and
/// timestamp timestamp, null and any that one, all else string.
spec::TypeKind uniteCsvTypes(spec::TypeKind a, spec::TypeKind b);

}  // namespace millrace::dataset

#pragma once
// The first pass over a CSV file: where records begin, how many there are, what their values look
// like.
//
// Cuts the file at record borders into stretches of `csvSplitRows` records, counts rows and what
// each column's values look like (csv_types.h says what type follows), and hashes the content.
// Failure: kInvalidArgument "PATH:LINE: ..." for a row with a wrong number of fields, an
// unterminated quote, a header with an empty or repeated name, text that is not UTF-8. With
// csvDropsBadRows such rows, and rows with a value that is not of its type in csvTypes, are left out
// and counted.
#include "backend/dataset/file_facts.h"

namespace millrace::dataset {

Result<FileFacts> scanCsv(const DataFile& file, const ReadOptions& options);

}  // namespace millrace::dataset

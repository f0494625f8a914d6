#pragma once
// The first pass over a CSV file: where records begin, how many there are, what types they have.
//
// Cuts the file at record borders into stretches of `csvSplitRows` records, counts rows, finds the
// narrowest type that every value of a column has (bool, int64, uint64, double, date, timestamp,
// string; all null: null) and hashes the text. Quoted fields may hold delimiters, line ends and
// doubled quotes. An empty field is null, and so are NA, NULL and the like in columns of another
// type than string.
// Threads: the caller's reads, hashes and cuts; up to `threads` of them, the caller's too, look at
// what was cut, a block each. Blocks are put together in their order, so the facts are the same for
// any number; few blocks are held at a time.
// Failure: kInvalidArgument "PATH:LINE: ..." for a row with a wrong number of fields, an
// unterminated quote, a header with an empty or repeated name, text that is not UTF-8.
#include "backend/files/file_facts.h"
#include "backend/files/file_list.h"

namespace millrace::csv {

Result<files::FileFacts> scanCsv(const files::DataFile& file, const files::ReadOptions& options,
                                 int threads = 1);

}  // namespace millrace::csv

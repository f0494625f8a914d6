#pragma once
// The first pass over a CSV file: where records begin, how many there are, which types they have.
//
// Splits the file at record borders into stretches of `csvSplitRows` records and counts rows. Finds
// the narrowest type that fits every value of a column (bool, int64, uint64, double, date,
// timestamp, string; all null: null) and hashes the text. Quoted fields may contain delimiters,
// line ends and doubled quotes. An empty field is null, and so are NA, NULL and similar words in
// columns of a type other than string.
// Threads: the caller's reads, hashes and splits; up to `threads` threads, including the caller's,
// analyse the blocks. Results are combined in order, so the facts do not depend on the number of
// threads; few blocks are held at a time.
// Failure: kInvalidArgument "PATH:LINE: ..." for a row with a wrong number of fields, an
// unterminated quote, a header with an empty or repeated name, text that is not UTF-8.
#include "backend/files/file_list.h"
#include "backend/files/file_metadata.h"

namespace millrace::csv {

Result<files::FileMetadata> scanCsv(const files::DataFile& file, const files::ReadOptions& options,
                                    int threads = 1);

}  // namespace millrace::csv

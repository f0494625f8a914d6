#pragma once
// The types of CSV columns: what a file's first pass saw of a column, and what follows for all files
// of a dataset together. Private to the room.
//
// One value does not change a column's type: where all but a few values are numbers or times, the
// others are errors that name file, line, column and value (or are left out with their rows).
// Threads: pure.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/dataset/csv_values.h"
#include "backend/dataset/file_facts.h"

namespace millrace::dataset {

/// The kind that all values of a column have; kString where they have nothing in common, kNull
/// where there are none. `ignoresTexts`: as if values that look like nothing were not there.
spec::TypeKind csvKind(const CsvColumn& column, bool ignoresTexts);

/// Brings each file's own types (schema of its facts) to what they mean with all files seen: texts
/// that are few count for nothing. `notes` gets what is worth to know. Failure: kInvalidArgument for
/// a value that does not fit, "PATH:LINE: column 'c': 'value' ...".
Result<std::vector<spec::Schema>> csvSchemas(
    const std::vector<DataFile>& files, const std::vector<std::shared_ptr<const FileFacts>>& facts,
    const ReadOptions& options, std::vector<std::string>& notes);

}  // namespace millrace::dataset

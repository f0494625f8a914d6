#pragma once
// Shows values of a dataset's rows, which the loader returns as texts, in tables and documents.
#include <string>

#include "app/cli/frame/table.h"
#include "backend/text/json.h"

namespace millrace::cli {

/// Whether the table aligns values of the type with this name to the right.
bool isNumberType(const std::string& type);

/// Null is dim; a text that is empty or looks like null is quoted.
TableCell valueCell(const std::string& value, bool isNull, tui::Tone tone);

/// Joins {values, is_null} into one list in which nulls are null.
void nullsInPlace(Json& column);

}  // namespace millrace::cli

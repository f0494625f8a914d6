#pragma once
// Prints rows of --csv: a header line, then one line per row (RFC 4180, with line feeds).
//
// A row is an object in the shape of --json. Nested objects become columns with dotted names
// (`progress.step`), an unknown value is an empty field, and a list is its JSON text.
#include <map>
#include <string>
#include <vector>

#include "app/cli/frame/context.h"

namespace millrace::cli {

/// The texts of a row by their columns' names.
std::map<std::string, std::string> csvFieldsOf(const Json& row);
/// `first`: columns that come first, in this order. Those of `shape` and of the rows follow, sorted
/// by name; the columns of `first` and `shape` exist even without rows.
void printCsv(CliContext& context, const std::vector<std::string>& first,
              const std::vector<Json>& rows, const Json& shape = Json::object());
/// Only these columns, in this order.
void printCsvColumns(CliContext& context, const std::vector<std::string>& names,
                     const std::vector<Json>& rows);

}  // namespace millrace::cli

#pragma once
// TableRef: the files of a side table, and their CSV options.
//
// Plain values. Threads: values.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/schema.h"

namespace millrace::spec {

struct CsvOptions {
    std::string delimiter = ",";
    bool header = true;
    std::map<std::string, std::string> types;  ///< column -> type name; all columns after binding
    // The JSON has the following members only if they differ from these defaults.
    std::string quote = "\"";   ///< "": none
    std::string comment;        ///< starts a comment line; "": none
    std::int64_t skipRows = 0;  ///< lines before the header
    bool decimalComma = false;
    std::vector<std::string> nullValues;  ///< empty: the usual words, except in text columns
    std::string onBadRow = "error";       ///< or "drop"
    bool operator==(const CsvOptions&) const = default;
};

/// A side table: files or globs, read as one. Its CSV options default to those of its first name. A
/// text converts to the table of that name.
struct TableRef {
    std::vector<std::string> paths;
    CsvOptions csv;

    TableRef() = default;
    TableRef(std::vector<std::string> names);  // NOLINT(google-explicit-constructor)
    TableRef(std::string name) : TableRef(std::vector<std::string>{std::move(name)}) {}
    TableRef(const char* name) : TableRef(std::string(name)) {}

    bool empty() const { return paths.empty(); }
    /// For people: "a.csv, b.csv".
    std::string text() const;
    bool hasUsualCsv() const;
    /// One line; equal for equal tables.
    std::string key() const;
};

/// The schema of a side table, named as in the spec.
using TableSchemaLookup = std::function<Result<expr::Schema>(const TableRef& table)>;

}  // namespace millrace::spec

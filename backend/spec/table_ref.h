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
#include "backend/spec/data_format.h"
#include "backend/spec/key_table.h"

namespace millrace::spec {

struct CsvOptions {
    std::string delimiter = ",";
    bool header = true;
    std::map<std::string, std::string> types;  ///< column -> type name; all columns after binding
    std::string quote = "\"";                  ///< "": none
    std::string comment;                       ///< starts a comment line; "": none
    std::int64_t skipRows = 0;                 ///< lines before the header
    bool decimalComma = false;
    std::vector<std::string> nullValues;  ///< empty: the usual words, except in text columns
    std::string onBadRow = "error";       ///< or "drop"
    bool operator==(const CsvOptions&) const = default;

    static void listKeys(auto& a) {
        using S = CsvOptions;
        a("delimiter", &S::delimiter,
          "one character between the fields; default: a comma, for .tsv and .tab files a tab",
          {.isDerived = true});
        a("header", &S::header,
          "the first line has the columns' names; false: they are f0, f1, ...");
        a("types", &S::types,
          "types of columns by name (int64, double, string, ...); other types are inferred from "
          "the values");
        a("quote", &S::quote,
          "the character around fields that contain delimiters or line ends; doubled inside a "
          "field; \"\": none",
          {.isSparse = true});
        a("comment", &S::comment, "a character; lines that begin with it are not rows",
          {.isSparse = true});
        a("skip_rows", &S::skipRows, "lines of each file before its header",
          {.min = 0, .max = kMostRows, .isSparse = true, .unit = "lines"});
        a("decimal_comma", &S::decimalComma, "numbers are written 1,5", {.isSparse = true});
        a("null_values", &S::nullValues, csvNullsDoc(), {.isSparse = true});
        a("on_bad_row", &S::onBadRow,
          "what to do with a row that has a value of another type than its column, or too many or "
          "too few fields: report an error, or leave it out and count it (drop)",
          {.choices = {"error", "drop"}, .isSparse = true});
    }
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

#pragma once
// Combines the schemas of a dataset's files into one schema.
//
// A type widens from file to file if no value can change unnoticed: integers to wider ones,
// integers and floats to a float type (the reader rejects an integer that no double can hold),
// dates to timestamps. `ReadOptions::types` overrides the type. A column that still differs between
// files, or that some of them lack, is rejected, and the message names both files and the fix. Only
// specs that use the column fail. Threads: one at a time.
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/files/file_list.h"
#include "backend/files/file_metadata.h"

namespace millrace::files {

class SchemaUnion {
 public:
    /// Both references outlive it. Failure: kInvalidArgument for a misspelled type in
    /// `options.types`.
    static Result<SchemaUnion> make(const std::vector<DataFile>& files, const ReadOptions& options);

    /// Adds the columns of files[file]. Those of CSV files already have the types of all files.
    void add(std::size_t file, const expr::Schema& one);
    expr::Schema take();

 private:
    struct Column {
        expr::Field field;
        std::size_t origin = 0;  ///< the file that determined its type
        std::string why;         ///< why it is rejected; "": it is not
    };

    SchemaUnion(const std::vector<DataFile>& files, const ReadOptions& options)
        : files_(files), options_(options) {}
    void widen(Column& column, std::size_t file, const expr::Schema& one);
    void addNew(const expr::Field& field, std::size_t file);
    void addRefused(const expr::Schema& one, std::size_t file);
    /// Gives the column the user's type; rejects the column if the file's `type` cannot be read as
    /// it.
    void give(Column& column, const expr::DataType& type, std::size_t file) const;
    std::string notIn(std::size_t without, std::size_t with) const;

    const std::vector<DataFile>& files_;
    const ReadOptions& options_;
    std::map<std::string, expr::DataType, std::less<>> given_;
    std::vector<Column> columns_;
    std::unordered_map<std::string, std::size_t> places_;  ///< by name
    std::vector<expr::RefusedColumn> refused_;
    std::unordered_map<std::string, std::size_t> refusedIn_;  ///< by name: the first file with it
    expr::Schema last_;
    std::size_t first_ = 0;
    bool isEmpty_ = true;
};

}  // namespace millrace::files

#pragma once
// Types one step's expressions and applies its effect on the columns. Private to spec.
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/expr/expression.h"
#include "backend/expr/schema.h"
#include "backend/spec/step.h"
#include "backend/spec/table_ref.h"

namespace millrace::spec {

/// Receives errors: the key below the step ("take.year"; "" for the step itself), the code, the
/// byte offset in the expression, and the message.
using StepSink = std::function<void(const std::string& key, const char* code, std::size_t offset,
                                    std::string message)>;

/// How a column of `type` becomes what is `wanted`: a text a list, a float an id. "" for others.
std::string hintFor(const expr::DataType& type, const std::string& column, std::string_view wanted);

/// Types expressions against columns. After an error it marks the columns that would have been made
/// as broken, so that one mistake gives one message.
class StepTyper {
 public:
    StepTyper(expr::Schema columns, const TableSchemaLookup& tables, StepSink sink)
        : columns_(std::move(columns)), tables_(tables), sink_(std::move(sink)) {}

    void apply(const Step& step);
    const expr::Schema& columns() const { return columns_; }
    void setSink(StepSink sink) { sink_ = std::move(sink); }

    enum class Wanted { kAny, kPredicate, kNumber, kLabel };
    /// Returns nothing after an error, or if the text reads a broken column.
    std::optional<expr::DataType> type(const std::string& key, const std::string& text,
                                       Wanted wanted);
    /// The column's type; an error with the nearest name if it is unknown.
    std::optional<expr::DataType> column(const std::string& key, const std::string& name);
    bool isBroken(const std::string& name) const { return broken_.count(name) > 0; }
    /// Adds a column to the rows; without a type it is broken.
    void add(const std::string& name, const std::optional<expr::DataType>& type);
    /// Removes all columns except these.
    void keepOnly(const std::string& key, const std::vector<std::string>& names);
    /// Checks keys and time against the table's columns; adds the taken columns.
    void lookUp(const TableLookup& lookup, const std::optional<AsOf>& asOf,
                const std::vector<NamedExpr>& take);
    void refuse(const std::string& key, const char* code, std::string message);

 private:
    std::optional<expr::DataType> typeIn(const expr::Schema& schema, const std::string& key,
                                         const std::string& text, Wanted wanted);
    /// For a join: the type of a column of the rows, or of an expression over them.
    std::optional<expr::DataType> joinLeft(const std::string& key, const std::string& text);
    void checkJoinKey(const JoinKey& key, const std::string& table, const expr::Schema& right);
    void checkAsOf(const AsOf& asOf, const std::string& table, const expr::Schema& right);

    expr::Schema columns_;
    const TableSchemaLookup& tables_;
    StepSink sink_;
    std::set<std::string> broken_;
};

}  // namespace millrace::spec

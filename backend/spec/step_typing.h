#pragma once
// What one step does to the columns, and whether its expressions fit them. Private to the room.
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/expr/expression.h"
#include "backend/expr/schema.h"
#include "backend/spec/step.h"
#include "backend/spec/table_ref.h"

namespace millrace::spec {

/// Where errors go: the key below the step ("take.year"; "" the step), its code, the byte inside
/// the expression, what.
using StepSink = std::function<void(const std::string& key, const char* code, std::size_t offset,
                                    std::string message)>;

/// Types expressions against columns; after an error the columns that it would have made are known
/// as broken, so that one mistake gives one message.
class StepTyper {
 public:
    StepTyper(expr::Schema columns, const TableSchemaLookup& tables, StepSink sink)
        : columns_(std::move(columns)), tables_(tables), sink_(std::move(sink)) {}

    void apply(const Step& step);
    const expr::Schema& columns() const { return columns_; }
    void setSink(StepSink sink) { sink_ = std::move(sink); }

    enum class Wanted { kAny, kPredicate, kNumber, kLabel };
    /// Nothing after an error, or when the text reads a broken column.
    std::optional<expr::DataType> type(const std::string& key, const std::string& text,
                                       Wanted wanted);
    /// The column's type; an error with the nearest name when it is unknown.
    std::optional<expr::DataType> column(const std::string& key, const std::string& name);
    bool isBroken(const std::string& name) const { return broken_.count(name) > 0; }
    /// The rows have the column from here on; no type: it is broken.
    void add(const std::string& name, const std::optional<expr::DataType>& type);
    /// The rows have these columns alone from here on.
    void keepOnly(const std::string& key, const std::vector<std::string>& names);
    /// Keys and time against the table's columns; adds the columns taken of it.
    void lookUp(const TableLookup& lookup, const std::optional<AsOf>& asOf,
                const std::vector<NamedExpr>& take);
    void refuse(const std::string& key, const char* code, std::string message);

 private:
    std::optional<expr::DataType> typeIn(const expr::Schema& schema, const std::string& key,
                                         const std::string& text, Wanted wanted);
    /// Of a join: a column of the rows, or an expression over them.
    std::optional<expr::DataType> joinLeft(const std::string& key, const std::string& text);
    void checkJoinKey(const JoinKey& key, const std::string& table, const expr::Schema& right);
    void checkAsOf(const AsOf& asOf, const std::string& table, const expr::Schema& right);

    expr::Schema columns_;
    const TableSchemaLookup& tables_;
    StepSink sink_;
    std::set<std::string> broken_;
};

}  // namespace millrace::spec

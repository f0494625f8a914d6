#pragma once
// Evaluates typed expressions over columns by DuckDB's rules (docs/reference/spec.md, Expressions).
//
// x/0 is null; `//` truncates towards zero; integer overflow and casts that do not fit are errors
// with the row. Logic is three-valued; NaN equals NaN and is the largest number. Branches of case,
// and, or and coalesce that are expensive, or fail for some row, are evaluated only for the rows
// that need them.
// Threads: pure.
#include <cstdint>
#include <string>

#include "backend/eval/kernels.h"
#include "backend/expr/expression.h"

namespace millrace::eval {

/// The rows over which an expression is evaluated.
class ExprInput {
 public:
    virtual ~ExprInput() = default;
    virtual std::int64_t rows() const = 0;
    /// Returns the column's `rows()` values.
    virtual Result<ArrayPtr> column(const std::string& name) = 0;
    /// Like column(), but repeated values may be stored once (backend/arrays/text_codes.h).
    virtual Result<ArrayPtr> storedColumn(const std::string& name) { return column(name); }
};

/// Returns one value per row. On an error, sets `failedRow` (unless null) to the first failing row,
/// or to -1 if the error does not depend on a row.
Result<ArrayPtr> evaluate(const expr::Expr& expr, ExprInput& input,
                          std::int64_t* failedRow = nullptr);

/// Parses the text and types it against the columns. Also rejects what evaluate() would reject for
/// every row, by evaluating it over no rows: a bad regular expression, or an operation that does
/// not exist for these types. Failure: "PLACE: ...".
Result<expr::Expr> compileChecked(const std::string& text, const expr::Schema& schema,
                                  const std::string& place);
/// Like compileChecked(), for a text that must be true or false.
Result<expr::Expr> compileCheckedPredicate(const std::string& text, const expr::Schema& schema,
                                           const std::string& place);

/// Dense features and labels are computed in this type.
inline const expr::DataType kDoubleType{expr::TypeKind::kDouble};

/// cast and try_cast of values to `type`.
Result<ArrayPtr> castValues(const ArrayPtr& values, const expr::DataType& from,
                            const expr::DataType& to, bool isTry);

/// Calls a function with evaluated arguments.
Result<Datum> callFunction(const expr::ExprNode& node, const std::vector<Datum>& arguments,
                           std::int64_t rows);

}  // namespace millrace::eval

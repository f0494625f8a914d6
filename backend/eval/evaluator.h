#pragma once
// Evaluates typed expressions over columns with SEMANTICS 2's rules (as DuckDB).
//
// x/0 is null; `//` cuts towards zero; integer overflow and casts that do not fit are errors with
// the row; three-valued logic; NaN equals NaN and is the largest number. Branches of case, and, or
// and coalesce that cost much, or fail somewhere, are evaluated for the rows that need them only.
// Threads: pure.
#include <cstdint>
#include <memory>
#include <string>

#include "backend/eval/kernels.h"
#include "backend/expr/expression.h"

namespace millrace::eval {

/// The rows that an expression is evaluated over.
class ExprInput {
 public:
    virtual ~ExprInput() = default;
    virtual std::int64_t rows() const = 0;
    /// `rows()` values of the column.
    virtual Result<ArrayPtr> column(const std::string& name) = 0;
    /// The same, but values that repeat may be stored once (backend/arrays/text_codes.h).
    virtual Result<ArrayPtr> storedColumn(const std::string& name) { return column(name); }
};

/// One value a row. `failedRow`, when not null, is set on an error to the first row that fails, or
/// -1 when it does not depend on one.
Result<ArrayPtr> evaluate(const expr::Expr& expr, ExprInput& input,
                          std::int64_t* failedRow = nullptr);

/// The text typed against the columns. Also refuses what evaluate() would refuse for every row, by
/// running it over none: a bad regular expression, an operation that is not there for these types.
/// Failure: "PLACE: ...".
Result<expr::Expr> compileChecked(const std::string& text, const expr::Schema& schema,
                                  const std::string& place);
/// The same of a text that must be true or false.
Result<expr::Expr> compileCheckedPredicate(const std::string& text, const expr::Schema& schema,
                                           const std::string& place);

/// What dense features and labels are computed in.
inline const expr::DataType kDoubleType{expr::TypeKind::kDouble};

/// cast and try_cast of values to `type`.
Result<ArrayPtr> castValues(const ArrayPtr& values, const expr::DataType& from,
                            const expr::DataType& to, bool isTry);

/// A function call; the arguments are evaluated.
Result<Datum> callFunction(const expr::ExprNode& node, const std::vector<Datum>& arguments,
                           std::int64_t rows);

}  // namespace millrace::eval

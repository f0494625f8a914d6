#pragma once
// Evaluates typed expressions over columns with SEMANTICS 2's rules (as DuckDB).
//
// x/0 is null; `//` cuts towards zero; integer overflow and casts that do not fit are errors with
// the row; three-valued logic; NaN equals NaN and is the largest number. Branches of case, and, or
// and coalesce that fail somewhere are evaluated again for the rows that need them only.
// Threads: pure.
#include <cstdint>
#include <memory>
#include <string>

#include "backend/recipe/kernels.h"
#include "backend/spec/expression.h"

namespace millrace::recipe {

/// The rows that an expression is evaluated over.
class ExprInput {
 public:
    virtual ~ExprInput() = default;
    virtual std::int64_t rows() const = 0;
    /// `rows()` values of the column.
    virtual Result<ArrayPtr> column(const std::string& name) = 0;
};

/// One value a row. `failedRow`, when not null, is set on an error to the first row that fails, or
/// -1 when it does not depend on one.
Result<ArrayPtr> evaluate(const spec::Expr& expr, ExprInput& input,
                          std::int64_t* failedRow = nullptr);

/// Refuses what evaluate() would refuse for every row: a bad regular expression, an operation that
/// is not there for these types. Runs the expression over no rows.
Status checkExpression(const spec::Expr& expr, const spec::Schema& schema);

/// What dense features and labels are computed in.
inline const spec::DataType kDoubleType{spec::TypeKind::kDouble};

/// cast and try_cast of values to `type`.
Result<ArrayPtr> castValues(const ArrayPtr& values, const spec::DataType& from,
                            const spec::DataType& to, bool isTry);

/// A function call; the arguments are evaluated.
Result<Datum> callFunction(const spec::ExprNode& node, const std::vector<Datum>& arguments,
                           std::int64_t rows);

/// hash01's and `hash`'s kernel: XXH3-64 of the canonical bytes of each row's values.
/// `seed` null: without a seed.
Result<std::vector<std::uint64_t>> hashRows(const std::vector<ArrayPtr>& columns, std::int64_t rows,
                                            const std::uint64_t* seed);

}  // namespace millrace::recipe

#pragma once
// Operators by Arrow's kernels and by loops over Arrow arrays. Used for types without a lane, and
// for a lane kernel's failed rows, since the error messages are made here. Private to eval.
//
// Threads: pure. Failure: kInvalidArgument, without a position.
#include <cstdint>
#include <vector>

#include "backend/eval/kernels.h"
#include "backend/expr/expression.h"

namespace millrace::eval {

/// A literal as a scalar of its type.
Result<Datum> literalScalar(const expr::ExprNode& node);

/// Evaluates a node other than a leaf or a branch (and, or, case, coalesce), from its children's
/// values.
Result<Datum> evaluateByArrow(const expr::ExprNode& node, const std::vector<Datum>& children,
                              std::int64_t rows);

}  // namespace millrace::eval

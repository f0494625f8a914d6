#pragma once
// Operators by Arrow's kernels and the room's loops over Arrow arrays: for types that have no lane,
// and for what fails in a lane, as the sentences are told here. Private to the room.
//
// Threads: pure. Failure: kInvalidArgument, without a place.
#include <cstdint>
#include <vector>

#include "backend/eval/kernels.h"
#include "backend/expr/expression.h"

namespace millrace::eval {

/// A literal as a scalar of its type.
Result<Datum> literalScalar(const expr::ExprNode& node);

/// One node that is no leaf, no branch (and, or, case, coalesce); the children are evaluated.
Result<Datum> evaluateByArrow(const expr::ExprNode& node, const std::vector<Datum>& children,
                              std::int64_t rows);

}  // namespace millrace::eval

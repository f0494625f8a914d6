#pragma once
// Looks for nulls of features that a model takes for something else.
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

/// Reads the first rows of training. Returns a sentence for each dense feature whose nulls count as
/// 0 although 0 is outside of its other values (at most five name their column), and one for the
/// ids whose nulls share row 0 of a vocabulary with unknown values. `columns`: those that a feature
/// may have. Reads nothing if no feature can have such nulls. Failure: data errors.
Result<std::vector<std::string>> checkNulls(const spec::RunSpec& spec, const stream::Plan& plan,
                                            const expr::Schema& columns);

}  // namespace millrace::loader

#pragma once
// A look at the labels of training or of evaluation: a head with one class only cannot be learnt,
// and figures such as AUC cannot be told of it.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

struct LabelFinding {
    std::string head;
    std::string message;     ///< without the place
    bool isCertain = false;  ///< all rows were looked at
};

/// What a look at a spec that is only checked may decode.
inline constexpr std::int64_t kCheckBytes = 200'000'000;

/// Reads label columns split after split until every head has shown two values, or about
/// `mostBytes` of data are decoded. Heads without a finding are fine; the rows after them are the
/// run's own to judge. Failure: data errors, a label outside of 0 to 1 among them.
Result<std::vector<LabelFinding>> checkLabels(const spec::RunSpec& spec, const stream::Plan& plan,
                                              recipe::Part part,
                                              std::int64_t mostBytes = kCheckBytes);

}  // namespace millrace::loader

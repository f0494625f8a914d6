#pragma once
// Checks the labels of training or of evaluation: a head with one class only cannot be learnt, and
// metrics such as AUC are not defined for it.
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
    bool isCertain = false;  ///< all rows were read
};

/// Most bytes decoded for a spec that is only checked.
inline constexpr std::int64_t kCheckBytes = 200'000'000;

/// Reads label columns split after split until every head has had two different values, or about
/// `mostBytes` of data are decoded. Heads without a finding are fine; later rows are not checked
/// here. Failure: data errors, among them a label outside of 0 to 1.
Result<std::vector<LabelFinding>> checkLabels(const spec::RunSpec& spec, const stream::Plan& plan,
                                              recipe::Part part,
                                              std::int64_t mostBytes = kCheckBytes);

}  // namespace millrace::loader

#pragma once
// A look at the labels of the training rows: a head with one class only cannot be learnt.
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/spec/schema.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

struct LabelFinding {
    std::string head;
    std::string message;     ///< without the place
    bool isCertain = false;  ///< all rows were looked at
};

/// Reads label columns split after split until every head has shown two values, at most about
/// 200 MB of decoded data. Heads without a finding are fine. Failure: data errors.
Result<std::vector<LabelFinding>> checkLabels(const spec::RunSpec& spec, const stream::Plan& plan);

}  // namespace millrace::loader

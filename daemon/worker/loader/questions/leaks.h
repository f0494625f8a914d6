#pragma once
// Features that tell the label by themselves: mostly known only after it.
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

/// A sentence for each dense feature that orders the rows of the first splits by their label (AUC
/// above 0.98, or below 0.02), and for each id whose mean labels in one half of these rows order
/// those of the other; of the first head. Failure: data errors.
Result<std::vector<std::string>> findLeaks(const spec::RunSpec& spec, const stream::Plan& plan);

}  // namespace millrace::loader

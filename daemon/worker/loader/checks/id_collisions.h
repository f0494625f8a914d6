#pragma once
// Looks for small embedding tables in which hashing gives several values of an id one row.
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

/// Reads the ids of the first splits of training. Returns a sentence for each table that is small
/// enough for a counted vocabulary and in which more than a quarter of the values share a row with
/// another. Reads nothing if no table of the spec is so small. Failure: data errors.
Result<std::vector<std::string>> checkIdCollisions(const spec::RunSpec& spec,
                                                   const stream::Plan& plan);

}  // namespace millrace::loader

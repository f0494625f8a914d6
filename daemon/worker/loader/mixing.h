#pragma once
// Whether shuffling within segments mixes users and requests, or files are sorted by them.
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

/// Looks into two neighbouring segments of the first epoch: a sentence for each of features.user and
/// features.request of which a segment has few different ones while the next one has others. Empty
/// where neither is named, nothing is shuffled, there is one segment only, or two of them are too
/// large to be looked at. Failure: data errors.
Result<std::vector<std::string>> checkMixing(const spec::RunSpec& spec, const stream::Plan& plan);

}  // namespace millrace::loader

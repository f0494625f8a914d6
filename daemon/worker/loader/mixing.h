#pragma once
// Whether shuffling within segments mixes users and requests, or files are sorted by them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"
#include "daemon/worker/loader/labels.h"

namespace millrace::loader {

/// How much is looked at.
struct MixingBounds {
    /// A segment with so many different users mixes well enough: on the MovieLens example 50 cost
    /// 0.006 of AUC, 200 nothing. Of two segments twice as many are kept at most.
    std::size_t keysEnough = 128;
    std::int64_t bytesMax = kCheckBytes;  ///< decoded, of both segments
};

/// Looks into two neighbouring segments of the first epoch: a sentence for each of features.user
/// and features.request of which a segment has few different ones while the next one has others.
/// Empty where neither is named, nothing is shuffled, there is one segment only, or two of them are
/// too large to be looked at. Failure: data errors.
Result<std::vector<std::string>> checkMixing(const spec::RunSpec& spec, const stream::Plan& plan,
                                             const MixingBounds& bounds = {});

}  // namespace millrace::loader

#pragma once
// Checks whether shuffling within segments mixes users and requests, or files are sorted by them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"
#include "daemon/worker/loader/checks/labels.h"

namespace millrace::loader {

/// Limits of the check.
struct MixingBounds {
    /// A segment with this many different users mixes well enough: on the MovieLens example 50 cost
    /// 0.006 of AUC, 200 nothing. For two segments at most twice as many are kept.
    std::size_t keysEnough = 128;
    std::int64_t bytesMax = kCheckBytes;  ///< decoded, of both segments
};

/// Reads two neighbouring segments of the first epoch. Returns a sentence for each of features.user
/// and features.request that has few different values in one segment and others in the next. Empty
/// if neither is named, nothing is shuffled, there is only one segment, or two are too large to
/// read. Failure: data errors.
Result<std::vector<std::string>> checkMixing(const spec::RunSpec& spec, const stream::Plan& plan,
                                             const MixingBounds& bounds = {});

}  // namespace millrace::loader

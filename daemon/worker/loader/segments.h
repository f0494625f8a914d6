#pragma once
// Texts about the size of a plan's segments: which rule determined it, and what would be better.
//
// Threads: pure functions.
#include <string>

#include "backend/dataset/plan/plan_builder.h"
#include "backend/text/json.h"

namespace millrace::loader {

dataset::SegmentSize segmentSizeOf(const stream::Plan& plan);

/// "2 splits each, as many as hold 131,072 rows".
std::string segmentsText(const dataset::SegmentSize& size);

/// Why the plan's segments are larger than the default wants; "" if they are not, or if the spec
/// wants them so.
std::string segmentsAdvice(const stream::Plan& plan);

/// Adds "segment_splits" and "segment_rule".
void addSegments(const dataset::SegmentSize& size, Json& json);

}  // namespace millrace::loader

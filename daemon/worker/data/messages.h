#pragma once
// Orders and facts of segments as messages, both ways.
//
// Threads: values. Failure: kDataLoss for what no sender of this build makes; whether facts hold
// together is checkFacts()'s.
#include "backend/segment/sequence/segment_facts.h"
#include "backend/segment/sequence/segment_server.h"
#include "backend/stream/segment_order.h"
#include "millrace/v1/data.pb.h"

namespace millrace::data {

/// Metadata that names the session of a worker.
inline constexpr char kSessionKey[] = "millrace-session-bin";

void toMessage(const stream::SegmentOrder& order, v1::OrderName& out);
void toMessage(const stream::SegmentOrder& order, v1::SegmentOrder& out);
void toMessage(const segment::SegmentDone& done, v1::SegmentDone& out);

/// Name and generation alone.
stream::SegmentOrder orderOf(const v1::OrderName& name);
stream::SegmentOrder orderOf(const v1::SegmentOrder& message);
Status statusOf(const v1::SegmentDone& done);
Result<segment::SegmentFacts> factsOf(const v1::SegmentFacts& message);

}  // namespace millrace::data

#pragma once
// Converts orders and facts of segments to and from messages. Used by feed and data worker.
//
// Threads: values. Failure: kDataLoss for values that no sender of this build produces;
// checkFacts() checks whether facts are consistent.
#include "backend/segment/sequence/segment_report.h"
#include "backend/segment/sequence/segment_server.h"
#include "backend/stream/segment_order.h"
#include "daemon/worker/wire/order_name.h"
#include "millrace/v1/data.pb.h"

namespace millrace::data {

using wire::kSessionKey;
using wire::orderOf;
using wire::toMessage;

void toMessage(const stream::SegmentOrder& order, v1::SegmentOrder& out);
void toMessage(const segment::SegmentDone& done, v1::SegmentDone& out);

stream::SegmentOrder orderOf(const v1::SegmentOrder& message);
Status statusOf(const v1::SegmentDone& done);
Result<segment::SegmentReport> factsOf(const v1::SegmentReport& message);

}  // namespace millrace::data

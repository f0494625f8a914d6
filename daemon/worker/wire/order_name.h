#pragma once
// Names of orders as messages: the holder of a frame identifies it by its order.
//
// Threads: values.
#include "backend/stream/frame_part.h"
#include "backend/stream/segment_order.h"
#include "millrace/v1/data.pb.h"

namespace millrace::wire {

/// Metadata key: for a feed, the session that it gave to a worker; for a relay, the worker's
/// number, in decimal.
inline constexpr char kSessionKey[] = "millrace-session-bin";

void toMessage(const stream::SegmentOrder& order, v1::OrderName& out);
/// Returns an order with only name and generation.
stream::SegmentOrder orderOf(const v1::OrderName& name);
stream::SegmentOrder orderOf(const stream::FramePart& part);

}  // namespace millrace::wire

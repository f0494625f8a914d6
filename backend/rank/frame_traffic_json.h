#pragma once
// values::FrameTraffic as JSON: the part "traffic" of receipt lines (docs/formats/rank-protocol.md)
// and of receipts. Written by a feed, read by the daemon.
//
// Pure. Failure: none; members that are missing or of another type count as 0 or "", and more nodes
// or links than FrameTraffic holds are summed up or left out.
#include "backend/text/json.h"
#include "backend/values/frame_traffic.h"

namespace millrace::rank {

Json trafficJson(const values::FrameTraffic& traffic);
values::FrameTraffic trafficOf(const Json& json);

}  // namespace millrace::rank

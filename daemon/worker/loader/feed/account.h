#pragma once
// The work of data workers for a feed, as the part "data_workers" of a run's receipt
// (docs/formats/rank-protocol.md) and as a log line.
//
// Threads: functions. Failure: none.
#include <string>

#include "backend/frame/frame.h"
#include "backend/text/json.h"
#include "daemon/worker/loader/elsewhere.h"

namespace millrace::loader {

Json accountJson(const SegmentsElsewhere::Account& account, const frame::FrameLayout& layout);
void logAccount(const SegmentsElsewhere::Account& account);

}  // namespace millrace::loader

#pragma once
// The tables of a run's frames between machines: by node, and the slowest links. Used by `show`.
//
// Pure.
#include <string>

#include "app/cli/frame/table.h"
#include "backend/values/frame_traffic.h"

namespace millrace::cli {

Table nodesTable(const values::FrameTraffic& traffic);
/// Empty if no link has a rate.
Table linksTable(const values::FrameTraffic& traffic);
/// A sentence on the time that the tables' rates cover.
std::string ratesText(const values::FrameTraffic& traffic, bool isActive);

}  // namespace millrace::cli

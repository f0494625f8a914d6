#pragma once
// Converts nodes and their telemetry between values and the messages of millrace.v1. Absent values
// stay absent.
//
// Threads: any. Failure: none; what a peer left out or does not know becomes the default.
#include <millrace/v1/nodes.pb.h>

#include "backend/values/node.h"

namespace millrace::convert {

v1::NodeInfo toProto(const values::NodeInfo& value);
values::NodeInfo fromProto(const v1::NodeInfo& message);

v1::NodeSample toProto(const values::NodeSample& value);
values::NodeSample fromProto(const v1::NodeSample& message);

}  // namespace millrace::convert

#pragma once
// Nodes and their telemetry between values and the messages of millrace.v1. Absent stays absent.
#include <millrace/v1/nodes.pb.h>

#include "proto/convert/values.h"

namespace millrace::convert {

v1::NodeInfo toProto(const NodeFacts& facts);
NodeFacts fromProto(const v1::NodeInfo& info);

v1::NodeSample toProto(const NodeMoment& moment);
NodeMoment fromProto(const v1::NodeSample& sample);

}  // namespace millrace::convert

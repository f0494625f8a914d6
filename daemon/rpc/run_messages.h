#pragma once
// The agent's metrics as messages of millrace.v1, where proto/convert does not know them.
#include <millrace/v1/runs.pb.h>

#include "daemon/agent/run_watch.h"

namespace millrace::rpc {

v1::MetricChunk toProto(const agent::MetricChanges& changes);

}  // namespace millrace::rpc

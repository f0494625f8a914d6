#pragma once
// Proto messages of version 1 to and from the client's values. Room-private.
//
// Threads: any. Failure: none; an enumerator of a newer daemon becomes kUnknown.
#include "app/client/daemon_values.h"
#include "millrace/v1/daemon.pb.h"
#include "millrace/v1/nodes.pb.h"
#include "millrace/v1/runs.pb.h"

namespace millrace::client {

RunSummary toValue(const v1::RunSummary& from);
RunDetail toValue(const v1::GetRunResponse& from);
SpecError toValue(const v1::SpecError& from);
SubmitReply toValue(const v1::SubmitResponse& from);
MetricSeries toValue(const v1::MetricSeries& from);
RunUpdate toValue(const v1::RunUpdate& from);
MetricChunk toValue(const v1::MetricChunk& from);
LogChunk toValue(const v1::LogChunk& from);
NodeInfo toValue(const v1::NodeInfo& from);
NodeSample toValue(const v1::NodeSample& from);
DaemonStatus toValue(const v1::DaemonStatusResponse& from);

v1::SubmitRequest toMessage(const SubmitRequest& from);
v1::ListRunsRequest toMessage(const ListRequest& from);
v1::MetricRangeRequest toMessage(const MetricRangeRequest& from);
v1::LogsRequest toMessage(const LogsRequest& from);

}  // namespace millrace::client

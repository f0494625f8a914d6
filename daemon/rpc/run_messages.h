#pragma once
// The agent's values as messages of millrace.v1, where proto/convert does not know them.
#include <string>

#include <millrace/v1/runs.pb.h>

#include "daemon/agent/run_service.h"

namespace millrace::rpc {

v1::RunSummary toProto(const agent::RunView& view);
void fillDetails(const agent::RunDetails& details, v1::GetRunResponse* out);
void fillOutcome(const agent::SubmitOutcome& outcome, const std::string& fileName,
                 v1::SubmitResponse* out);
agent::SubmitOrder fromProto(const v1::SubmitRequest& request);
agent::LogQuery fromProto(const v1::LogsRequest& request);
v1::LogChunk toProto(const agent::LogPage& page);

}  // namespace millrace::rpc

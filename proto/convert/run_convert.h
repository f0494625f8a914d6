#pragma once
// Runs, metrics, checkpoints, log lines and spec errors between values and the messages of
// millrace.v1.
//
// fromProto never fails: what a peer left out or does not know becomes the default.
#include <millrace/v1/runs.pb.h>

#include "backend/runs/run_record.h"
#include "backend/spec/spec_reader.h"
#include "proto/convert/values.h"

namespace millrace::convert {

v1::RunState toProto(runs::RunState state);
/// An unknown state is kQueued.
runs::RunState fromProto(v1::RunState state);

v1::RunSummary toProto(const RunView& run);
RunView fromProto(const v1::RunSummary& run);

v1::Metric toProto(const NamedPoint& point);
NamedPoint fromProto(const v1::Metric& metric);

v1::Checkpoint toProto(const runs::CheckpointRecord& checkpoint);
runs::CheckpointRecord fromProto(const v1::Checkpoint& checkpoint);

v1::LogLine toProto(const LogLine& line);
LogLine fromProto(const v1::LogLine& line);

v1::SpecError toProto(const spec::SpecError& error, const std::string& fileName);
spec::SpecError fromProto(const v1::SpecError& error);

v1::RunView toProto(runs::RunQuery::View view);
runs::RunQuery::View fromProto(v1::RunView view);

v1::ListRunsRequest toProto(const runs::RunQuery& query);
runs::RunQuery fromProto(const v1::ListRunsRequest& request);

}  // namespace millrace::convert

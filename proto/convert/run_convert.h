#pragma once
// Converts run summaries, and lists of them, between values and the messages of millrace.v1.
//
// Threads: any. Failure: none; what a peer left out or does not know becomes the default.
#include <millrace/v1/runs.pb.h>

#include "backend/values/run_list.h"

namespace millrace::convert {

v1::RunSummary toProto(const values::RunSummary& run);
values::RunSummary fromProto(const v1::RunSummary& run);

v1::HandOver toProto(const values::HandOver& handOver);
values::HandOver fromProto(const v1::HandOver& handOver);

v1::RunUpdate toProto(const values::RunUpdate& update);
values::RunUpdate fromProto(const v1::RunUpdate& update);

v1::ListRunsRequest toProto(const values::ListRequest& request);
values::ListRequest fromProto(const v1::ListRunsRequest& request);

v1::ListRunsResponse toProto(const values::RunPage& page);
values::RunPage fromProto(const v1::ListRunsResponse& page);

v1::DeleteRunResponse toProto(const values::RemovedRun& removed);
values::RemovedRun fromProto(const v1::DeleteRunResponse& removed);

v1::ParseFilterResponse toProto(const values::FilterCheck& check);
values::FilterCheck fromProto(const v1::ParseFilterResponse& check);

}  // namespace millrace::convert

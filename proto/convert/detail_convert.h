#pragma once
// Converts all details of one run, and its receipt, between values and the messages of millrace.v1.
//
// Threads: any. Failure: none; what a peer left out or does not know becomes the default.
#include <millrace/v1/runs.pb.h>

#include "backend/values/run_detail.h"

namespace millrace::convert {

v1::GitInfo toProto(const values::GitInfo& value);
values::GitInfo fromProto(const v1::GitInfo& message);

v1::LaunchPlace toProto(const values::LaunchPlace& value);
values::LaunchPlace fromProto(const v1::LaunchPlace& message);

v1::GetRunResponse toProto(const values::RunDetail& value);
values::RunDetail fromProto(const v1::GetRunResponse& message);

}  // namespace millrace::convert

#pragma once
// Converts log lines between values and the messages of millrace.v1.
//
// Threads: any. Failure: none; what a peer left out or does not know becomes the default.
#include <millrace/v1/runs.pb.h>

#include "backend/values/log_line.h"

namespace millrace::convert {

v1::LogsRequest toProto(const values::LogsRequest& value);
values::LogsRequest fromProto(const v1::LogsRequest& message);

v1::LogChunk toProto(const values::LogChunk& value);
values::LogChunk fromProto(const v1::LogChunk& message);

}  // namespace millrace::convert

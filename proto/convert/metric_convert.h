#pragma once
// Series of metrics as messages of millrace.v1.
//
// Threads: any. Failure: none.
#include <millrace/v1/runs.pb.h>

#include "backend/runs/run_record.h"

namespace millrace::convert {

v1::MetricSeries toProto(const runs::MetricSeries& series);

}  // namespace millrace::convert

#pragma once
// Converts metrics between values and the messages of millrace.v1: series, lines, cursors.
//
// fromProto never fails: columns of unequal length are cut to the shortest, what a peer left out
// becomes the default.
#include <millrace/v1/runs.pb.h>

#include "backend/values/metric_line.h"

namespace millrace::convert {

v1::MetricRangeRequest toProto(const values::MetricRangeRequest& request);
values::MetricRangeRequest fromProto(const v1::MetricRangeRequest& request);

v1::MetricRangeResponse toProto(const values::MetricHistory& history);
values::MetricHistory fromProto(const v1::MetricRangeResponse& response);

v1::WatchMetricsRequest toProto(const values::MetricsRequest& request);
values::MetricsRequest fromProto(const v1::WatchMetricsRequest& request);

v1::MetricChunk toProto(const values::MetricChunk& chunk);
values::MetricChunk fromProto(const v1::MetricChunk& chunk);

}  // namespace millrace::convert

#pragma once
// Messages of metrics to and from the client's values. Room-private.
//
// Threads: any. Failure: none.
#include "app/client/daemon_values.h"
#include "millrace/v1/runs.pb.h"

namespace millrace::client {

MetricSeries toValue(const v1::MetricSeries& from);
v1::MetricRangeRequest toMessage(const MetricRangeRequest& from);

}  // namespace millrace::client

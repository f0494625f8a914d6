#pragma once
// Messages of the service Inspect to and from the client's values. Room-private.
//
// Threads: any. Failure: none.
#include "app/client/inspect_values.h"
#include "millrace/v1/inspect.pb.h"

namespace millrace::client {

CheckReply toValue(const v1::CheckSpecResponse& from);
DatasetReply toValue(const v1::DescribeDatasetResponse& from);
StepsReply toValue(const v1::SampleStepsResponse& from);
PreviewReply toValue(const v1::PreviewSpecResponse& from);

v1::CheckSpecRequest toMessage(const CheckRequest& from);
v1::DescribeDatasetRequest toMessage(const DatasetRequest& from);
v1::SampleStepsRequest toMessage(const StepsRequest& from);
v1::PreviewSpecRequest toMessage(const PreviewRequest& from);

}  // namespace millrace::client

#pragma once
// Converts requests about specs and datasets between values and the messages of millrace.v1. The
// loader writes answers in the form of their messages, so only clients convert these.
//
// Threads: any. Failure: none; what a peer left out or does not know becomes the default.
#include <millrace/v1/inspect.pb.h>

#include "backend/values/inspection.h"

namespace millrace::convert {

v1::CheckSpecRequest toProto(const values::CheckRequest& value);
values::CheckRequest fromProto(const v1::CheckSpecRequest& message);

v1::DescribeDatasetRequest toProto(const values::DatasetRequest& value);
values::DatasetRequest fromProto(const v1::DescribeDatasetRequest& message);

v1::SampleStepsRequest toProto(const values::StepsRequest& value);
values::StepsRequest fromProto(const v1::SampleStepsRequest& message);

v1::PreviewSpecRequest toProto(const values::PreviewRequest& value);
values::PreviewRequest fromProto(const v1::PreviewSpecRequest& message);

values::CheckReply fromProto(const v1::CheckSpecResponse& message);

values::DatasetReply fromProto(const v1::DescribeDatasetResponse& message);

values::StepsReply fromProto(const v1::SampleStepsResponse& message);

values::PreviewReply fromProto(const v1::PreviewSpecResponse& message);

v1::PairRunsRequest toProto(const values::PairRequest& value);
values::PairRequest fromProto(const v1::PairRunsRequest& message);

values::PairReply fromProto(const v1::PairRunsResponse& message);

}  // namespace millrace::convert

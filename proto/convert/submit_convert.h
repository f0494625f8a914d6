#pragma once
// Converts submits and errors of specs between values and the messages of millrace.v1.
//
// Threads: any. Failure: none; what a peer left out or does not know becomes the default.
#include <millrace/v1/runs.pb.h>

#include "backend/values/submit.h"

namespace millrace::convert {

v1::SpecError toProto(const values::SpecError& value);
values::SpecError fromProto(const v1::SpecError& message);

v1::SubmitRequest toProto(const values::SubmitRequest& value);
values::SubmitRequest fromProto(const v1::SubmitRequest& message);

v1::SubmitResponse toProto(const values::SubmitReply& value);
values::SubmitReply fromProto(const v1::SubmitResponse& message);

}  // namespace millrace::convert

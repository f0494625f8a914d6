#pragma once
// Converts all details of one run, and its receipt, between values and the messages of millrace.v1.
//
// Threads: any. Failure: none; what a peer left out or does not know becomes the default.
#include <millrace/v1/runs.pb.h>

#include "backend/values/run_detail.h"

namespace millrace::convert {

v1::FileReceipt toProto(const values::FileReceipt& value);
values::FileReceipt fromProto(const v1::FileReceipt& message);

v1::StepReason toProto(const values::StepReason& value);
values::StepReason fromProto(const v1::StepReason& message);

v1::StepReceipt toProto(const values::StepReceipt& value);
values::StepReceipt fromProto(const v1::StepReceipt& message);

v1::VocabularyReceipt toProto(const values::VocabularyReceipt& value);
values::VocabularyReceipt fromProto(const v1::VocabularyReceipt& message);

v1::LabelReceipt toProto(const values::LabelReceipt& value);
values::LabelReceipt fromProto(const v1::LabelReceipt& message);

v1::DataWorkersReceipt toProto(const values::DataWorkersReceipt& value);
values::DataWorkersReceipt fromProto(const v1::DataWorkersReceipt& message);

v1::RoleCost toProto(const values::RoleCost& value);
values::RoleCost fromProto(const v1::RoleCost& message);

v1::Receipt toProto(const values::Receipt& value);
values::Receipt fromProto(const v1::Receipt& message);

v1::Checkpoint toProto(const values::Checkpoint& value);
values::Checkpoint fromProto(const v1::Checkpoint& message);

v1::GitInfo toProto(const values::GitInfo& value);
values::GitInfo fromProto(const v1::GitInfo& message);

v1::LaunchPlace toProto(const values::LaunchPlace& value);
values::LaunchPlace fromProto(const v1::LaunchPlace& message);

v1::ScriptInfo toProto(const values::ScriptInfo& value);
values::ScriptInfo fromProto(const v1::ScriptInfo& message);

v1::WorkerInfo toProto(const values::WorkerInfo& value);
values::WorkerInfo fromProto(const v1::WorkerInfo& message);

v1::RunEvent toProto(const values::RunEvent& value);
values::RunEvent fromProto(const v1::RunEvent& message);

v1::GetRunResponse toProto(const values::RunDetail& value);
values::RunDetail fromProto(const v1::GetRunResponse& message);

}  // namespace millrace::convert

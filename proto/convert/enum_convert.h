#pragma once
// Converts enumerators between values and the messages of millrace.v1, with switches that the
// compiler checks.
//
// Threads: any. Failure: none; an enumerator of a newer peer becomes the value's first.
#include <millrace/v1/runs.pb.h>

#include "backend/values/log_line.h"
#include "backend/values/run_detail.h"
#include "backend/values/run_list.h"

namespace millrace::convert {

v1::RunState toProto(values::RunState state);
values::RunState fromProto(v1::RunState state);

v1::Phase toProto(values::Phase phase);
values::Phase fromProto(v1::Phase phase);

v1::LogLevel toProto(values::LogLevel level);
values::LogLevel fromProto(v1::LogLevel level);

v1::RunView toProto(values::RunView view);
values::RunView fromProto(v1::RunView view);

v1::LargeDocument toProto(values::LargeDocument document);
/// Returns nullopt for one that this version does not know.
std::optional<values::LargeDocument> fromProto(v1::LargeDocument document);

}  // namespace millrace::convert

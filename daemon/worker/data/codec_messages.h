#pragma once
// Converts codecs and their measurements to and from messages. Used by feed and data worker.
//
// Threads: values. Failure: kDataLoss for values that no sender of this build produces.
#include "backend/core/status.h"
#include "backend/frame/codec.h"
#include "millrace/v1/data.pb.h"

namespace millrace::data {

void toMessage(const frame::CodecPlan& plan, v1::Codecs& out);
/// `columns`: of the layout.
Result<frame::CodecPlan> codecsOf(const v1::Codecs& message, std::size_t columns);

void toMessage(const frame::CodecMeasures& measures, v1::WorkerReport& out);
Result<frame::CodecMeasures> measuresOf(const v1::WorkerReport& message);

}  // namespace millrace::data

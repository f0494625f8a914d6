#pragma once
// What learner_bench measures; rank 0 prints it as a line of JSON.
#include "tests/bench/train/bench_model.h"

namespace millrace::train::bench {

/// By the arguments: training, or --evaluate, --checkpoint, --memory. All ranks make the call.
Status measure(const Arguments& arguments, Group& group);

}  // namespace millrace::train::bench

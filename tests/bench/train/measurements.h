#pragma once
// What learner_bench measures. Rank 0 prints it as a line of JSON.
#include "tests/bench/train/bench_model.h"

namespace millrace::train::bench {

/// The arguments select the measurement: training, --evaluate, --checkpoint or --memory. All ranks
/// make the call.
Status measure(const Arguments& arguments, Group& group);

}  // namespace millrace::train::bench

#pragma once
// The dataset of files that a command names without a spec: `head`, `dataset` and `init`.
//
// Threads: pure. Failure: kInvalidArgument, one sentence.
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"

namespace millrace::spec {

/// The dataset section of these files. `csv`: "KEY=VALUE" with keys of dataset.csv, as --csv takes
/// them; `format`: "" by the first name's ending.
Result<DatasetSpec> datasetOf(const std::vector<std::string>& paths, const std::string& format,
                              const std::vector<std::string>& csv);

}  // namespace millrace::spec

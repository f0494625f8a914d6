#pragma once
// Looks whether the files of vocabularies can be used as they are.
#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

/// Loads every vocabulary that a file gives, as a run does before its first row. Returns the first
/// error: a value that occurs twice, values of another kind than the column's, a damaged file. Does
/// not finish with tables that take more than 1 GiB.
Status checkVocabularies(const spec::RunSpec& spec, const stream::Plan& plan);

}  // namespace millrace::loader

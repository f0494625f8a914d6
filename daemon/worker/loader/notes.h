#pragma once
// Warnings about a planned run that are not errors: how side tables were read, compressed files
// that are read out of order, and rows that are both evaluated and trained on.
//
// Threads: one owner. Failure: none; errors of side tables are reported where the tables are used.
#include "backend/dataset/side_table.h"
#include "daemon/worker/loader/resolve.h"

namespace millrace::loader {

/// Warns if rows of the evaluation are also trained on, as far as a bounded look at the first
/// splits finds any; does not look if the recipe has side tables. Reads rows; wrong values are
/// reported by the check of the labels.
void noteTrainedEvaluation(ResolvedRun& run);

/// Adds the others to `run.warnings`. `place`: where relative paths of side tables begin, and the
/// cache.
void addNotes(ResolvedRun& run, const dataset::TablePlace& place);

/// Adds the dataset's notes on how its files were read, each once. It may be null.
void noteFiles(const std::shared_ptr<const dataset::Dataset>& dataset,
               std::vector<std::string>& notes);

/// Adds what binding found. Columns of a dataset without rows have no types: then an error says
/// that there are none, and errors about types are left out. `eval`: null if it is that of `train`.
void addBindErrors(const spec::SpecErrors& found, const dataset::Dataset& train,
                   const dataset::Dataset* eval, const spec::RunSpec& spec,
                   spec::SpecErrors& errors);

}  // namespace millrace::loader

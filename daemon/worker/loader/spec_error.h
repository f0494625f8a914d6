#pragma once
// Errors of a spec that are found in its files and rows. Used by all roles that resolve a spec.
#include <string>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/spec/spec_reader.h"

namespace millrace::loader {

/// A status as an error of a spec, with the position of the key that the message names, else of
/// `path`; without a position if both are unknown.
spec::SpecError errorOf(const Status& status, std::string path, std::string code,
                        const spec::RunSpec* spec);

/// The error that a question about rows has no dataset to look at.
spec::SpecError noDataset(const spec::RunSpec& spec);

}  // namespace millrace::loader

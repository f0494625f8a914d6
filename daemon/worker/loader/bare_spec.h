#pragma once
// A reduced spec for roles that only look at some rows before training.
#include "backend/spec/run_spec.h"

namespace millrace::loader {

/// Returns the spec with `features` instead of its own, unshuffled, without a model and without
/// positions in the text.
spec::RunSpec bareSpec(spec::RunSpec spec, spec::FeaturesSpec features);

}  // namespace millrace::loader

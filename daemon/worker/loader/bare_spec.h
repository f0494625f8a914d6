#pragma once
// A spec for who only looks at some of its rows, before it is trained.
#include "backend/spec/run_spec.h"

namespace millrace::loader {

/// The spec with `features` in place of its own and unshuffled, without a model of its own
/// and places in the text.
spec::RunSpec bareSpec(spec::RunSpec spec, spec::FeaturesSpec features);

}  // namespace millrace::loader

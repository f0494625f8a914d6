#pragma once
// A step of a recipe as one line of YAML, as a person would write it: what previews and funnels
// show beside its name. Threads: pure.
#include <string>

#include "backend/spec/run_spec.h"

namespace millrace::spec {

/// "filter: rating >= 4", "sample: {where: clicked = 0, keep: 0.1, weight: inverse}". Defaults are
/// left out, and so are the step's name and whether it is enabled.
std::string stepText(const Step& step);

}  // namespace millrace::spec

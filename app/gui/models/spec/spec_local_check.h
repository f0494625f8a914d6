#pragma once
// Checks a spec without its dataset: syntax, keys, types, ranges, variations.
//
// Uses the same reader as `millrace check`; the daemon checks columns and files. Threads: any; some
// milliseconds for a real spec, a second for the worst one, so not on the GUI thread
// (bridge/spec_checker.h).
#include <functional>
#include <string>
#include <vector>

#include "backend/values/inspection.h"

namespace millrace::gui {

struct LocalCheck {
    std::vector<values::SpecError> errors;
    std::vector<std::string> variations;  ///< their names, if the text was readable
};

/// Checks the base or one variation only: for a cell while it is typed.
LocalCheck checkOneLocally(const values::SpecSource& spec, const std::string& variation);
/// Checks everything. Calls `isStopped` between variations: true gives up.
LocalCheck checkLocally(const values::SpecSource& spec,
                        const std::function<bool()>& isStopped = {});

}  // namespace millrace::gui

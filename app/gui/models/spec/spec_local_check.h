#pragma once
// What can be said about a spec without its dataset: syntax, keys, types, ranges, variations.
//
// The same reader as `millrace check`; columns and files are for the daemon. Threads: any; some
// milliseconds for a real spec, a second for the worst one, so not on the GUI thread
// (bridge/spec_checker.h).
#include <functional>
#include <string>
#include <vector>

#include "backend/values/inspection.h"

namespace millrace::gui {

struct LocalCheck {
    std::vector<values::SpecError> errors;
    std::vector<std::string> variations;  ///< their names, where the text could be read
};

/// The base, or one variation alone: for a cell while it is typed.
LocalCheck checkOneLocally(const values::SpecSource& spec, const std::string& variation);
/// Everything. `isStopped` is asked between variations: true gives up.
LocalCheck checkLocally(const values::SpecSource& spec,
                        const std::function<bool()>& isStopped = {});

}  // namespace millrace::gui

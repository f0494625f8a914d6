#pragma once
// Errors of a spec as an editor reads them: FILE:LINE:COLUMN: message, the line, a caret.
#include <string>
#include <vector>

#include "app/cli/frame/terminal.h"
#include "backend/values/submit.h"

namespace millrace::cli {

/// `specText` is what was read; `fileName` stands for errors that name none. `word` is "error" or
/// "warning". With `hasSets` an error that has no place may come from --set, and is said so.
std::string describe(const std::vector<values::SpecError>& errors, const std::string& fileName,
                     const std::string& specText, const char* word, const Terminal& terminal,
                     bool hasSets = false);

}  // namespace millrace::cli

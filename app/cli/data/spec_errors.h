#pragma once
// Formats errors of a spec as compilers do: FILE:LINE:COLUMN: message, the line, a caret.
#include <string>
#include <vector>

#include "app/cli/frame/terminal.h"
#include "backend/values/submit.h"

namespace millrace::cli {

/// `specText` is the text that was read; `fileName` is used for errors without a file. `word` is
/// "error" or "warning". With `hasSets`, adds to an error without a position that --set may cause
/// it.
std::string describe(const std::vector<values::SpecError>& errors, const std::string& fileName,
                     const std::string& specText, const char* word, const Terminal& terminal,
                     bool hasSets = false);

}  // namespace millrace::cli

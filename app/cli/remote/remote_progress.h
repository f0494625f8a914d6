#pragma once
// Shows on one line of the terminal how much of a file was sent to a host.
#include <string>

#include "app/cli/frame/context.h"
#include "app/ssh/transfer.h"

namespace millrace::cli {

/// Empty if stderr is not a terminal. `what`: "movies.csv", "the programs".
ssh::Progress progressOf(CliContext& context, const std::string& what);

}  // namespace millrace::cli

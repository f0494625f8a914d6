#pragma once
// How far a file is on its way to a host, on one line of the terminal.
#include <string>

#include "app/cli/frame/context.h"
#include "app/ssh/transfer.h"

namespace millrace::cli {

/// Nothing where stderr is no terminal. `what`: "movies.csv", "the programs".
ssh::Progress progressOf(CliContext& context, const std::string& what);

}  // namespace millrace::cli

#pragma once
// The question that `rm --purge` asks before it deletes runs permanently.
#include <string>
#include <vector>

#include "app/client/daemon_client.h"

namespace millrace::cli {

/// A line for each run to be deleted and what is lost with it: the base that other runs are
/// compared with, the only evaluation of its submit. Reads the runs of the submits concerned.
Result<std::vector<std::string>> whatPurgeFrees(client::DaemonClient& daemon,
                                                const std::vector<values::RunSummary>& runs);

}  // namespace millrace::cli

#pragma once
// Finds the run that a person means by a few letters of its id, uid or name.
//
// Failure: kNotFound with the nearest id or name, kInvalidArgument with the candidates.
#include <string>
#include <vector>

#include "app/client/daemon_client.h"

namespace millrace::session {

/// An exact id or uid wins, then an exact "NAME/VARIATION" or "NAME / VARIATION" (a base run:
/// NAME), then the name of any variation's run, then a variation's own name, as tables of one
/// submit show it, then a prefix; each must be unique.
Result<values::RunSummary> pickRun(std::string_view text,
                                   const std::vector<values::RunSummary>& runs);

/// Asks the daemon. If it finds none or several runs, the error lists the candidates.
Result<values::RunDetail> findRun(client::DaemonClient& client, const std::string& text);

/// For commands that change a run. Rejects the beginning of a uid or name; the beginning of an id
/// with its "r-" is unlikely to be a slip.
Result<values::RunDetail> findRunToChange(client::DaemonClient& client, const std::string& text);

}  // namespace millrace::session

#pragma once
// What goes with a spec when it is submitted: its text, its directory, the user's git facts, a key.
//
// Failure: an unreadable or too long spec names the path and the limit. git facts never fail: where
// there is no git or no repository, or git takes longer than two seconds, they are empty.
#include <string>
#include <vector>

#include "app/client/daemon_client.h"
#include "backend/core/clock.h"

namespace millrace::session {

/// Commit, branch, remote and whether tracked files are changed, of the repository around
/// `directory`.
values::GitFacts gitFactsOf(const std::string& directory);

/// The present directory, and of this process's environment what a script may need: an allow-list
/// (PATH, VIRTUAL_ENV, LANG, OMP_*, CUDA_*, ...) and `more`, names of others. A name that is not
/// set, or that looks like one of a secret, is refused: what is taken is stored and shown.
Result<values::LaunchPlace> launchPlace(const std::vector<std::string>& more = {});

/// The same of another place's environment ("NAME=value"); `more` are variables of this process.
Result<values::LaunchPlace> launchPlaceOf(const std::vector<std::string>& environment,
                                          std::string workingDirectory,
                                          const std::vector<std::string>& more);

/// Refuses what is no UTF-8, with the place of the first bad byte.
Status checkSpecText(const std::string& text, const std::string& path);

/// The text of a spec of at most 8 MiB.
Result<std::string> readSpecText(const std::string& path);

/// Reads the spec at `path`; fills text, file name, base directory, owner, key, packages and git.
Result<values::SubmitRequest> readSubmission(const std::string& path, const Clock& clock);

/// Fills what is empty of owner, key, git facts of the base directory, and the environment.
void completeSubmission(values::SubmitRequest& request, const Clock& clock);

/// Submits; after a lost connection tries again with the same key, so that no second run is made.
Result<values::SubmitReply> submitSurely(client::DaemonClient& client,
                                         const values::SubmitRequest& request, int tries = 4);

}  // namespace millrace::session

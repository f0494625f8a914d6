#pragma once
// Submission: a spec's text, its directory, the user's git facts and an idempotency key.
//
// Failure: the error for an unreadable or too long spec names the path and the limit. git facts
// never fail: without git or a repository, or if git takes longer than two seconds, they are empty.
#include <string>
#include <vector>

#include "app/client/daemon_client.h"
#include "backend/core/clock.h"

namespace millrace::session {

/// Commit, branch, remote and whether tracked files are changed, for the repository around
/// `directory`.
values::GitInfo gitFactsOf(const std::string& directory);

/// The current directory, and the variables of this process that a script may need: an allow-list
/// (PATH, VIRTUAL_ENV, LANG, OMP_*, CUDA_*, ...) and `more`, further names. A name that is not set,
/// or that looks like a secret's, is rejected: the values are stored and shown.
Result<values::LaunchPlace> launchPlace(const std::vector<std::string>& more = {});

/// The same for another host's environment ("NAME=value"); `more` are variables of this process.
Result<values::LaunchPlace> launchPlaceOf(const std::vector<std::string>& environment,
                                          std::string workingDirectory,
                                          const std::vector<std::string>& more);

/// Rejects text that is not UTF-8, with the position of the first bad byte.
Status checkSpecText(const std::string& text, const std::string& path);

/// The text of a spec of at most 8 MiB.
Result<std::string> readSpecText(const std::string& path);

/// Reads the spec at `path`; fills text, file name, base directory, owner, key, packages and git.
Result<values::SubmitRequest> readSubmission(const std::string& path, const Clock& clock);

/// Fills in missing values: owner, key, git facts of the base directory, and the environment.
void completeSubmission(values::SubmitRequest& request, const Clock& clock);

/// Submits; retries a lost connection with the same key, so that no second run is created.
Result<values::SubmitReply> submitSurely(client::DaemonClient& client,
                                         const values::SubmitRequest& request, int tries = 4);

}  // namespace millrace::session

#pragma once
// Follows runs to their end: full screen, lines, or JSON objects.
#include <string>
#include <vector>

#include "app/cli/frame/context.h"
#include "app/session/link.h"
#include "app/session/live_model.h"

namespace millrace::cli {

enum class FollowForm { kScreen, kLines, kJson };

struct FollowJob {
    std::vector<values::RunSummary> runs;
    FollowForm form = FollowForm::kLines;
    bool leavesAtEnd = true;   ///< the full-screen view closes by itself
    bool printsResult = true;  ///< a table at the end
    int timeoutSeconds = 0;    ///< 0: none
    bool isQuiet = false;      ///< lines: only each run's last state
};

/// The form of the output: --json, else the screen if there is one and --plain is not given.
FollowForm followForm(const CliContext& context, bool isJson, bool isPlain);

/// Limits how long a daemon may be unreachable before lines and JSON end: two minutes. Behind ssh a
/// day: a laptop is closed or a network is down, and the host and its runs continue. The full
/// screen waits forever.
class ConnectionTimeout {
 public:
    explicit ConnectionTimeout(const client::DaemonClient& daemon);
    /// Call with the connection's state at `nowNs`. Returns true once the daemon is away too long.
    bool isTooLong(const session::Link& link, std::int64_t nowNs);

 private:
    const std::int64_t mostNs_;
    std::int64_t sinceNs_ = 0;  // 0: the daemon is connected
};

/// A model with the daemon's machines; empty if it does not return them.
session::LiveModel modelWithNodes(client::DaemonClient& daemon);

/// Returns when all runs have ended or the user leaves; the exit code reflects how they ended.
int followRuns(CliContext& context, client::DaemonClient& daemon, const FollowJob& job);

/// 5 if a run failed, else 3 if one was cancelled, else 0 (also while runs are active).
ExitCode exitCodeOf(const std::vector<values::RunSummary>& runs);

}  // namespace millrace::cli

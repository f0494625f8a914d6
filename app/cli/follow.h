#pragma once
// Following runs to their end: full screen, lines, or JSON objects.
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
    bool isQuiet = false;      ///< lines: only the last state of each run
};

/// How output is to be shown: --json, else the screen where there is one and --plain is not given.
FollowForm followForm(const CliContext& context, bool isJson, bool isPlain);

/// How long a daemon may stay away until lines and JSON end: two minutes; behind ssh a day, since a
/// lid is closed or a network is away, and the host and its runs go on. The full screen waits for
/// ever.
class Absence {
 public:
    explicit Absence(const client::DaemonClient& daemon);
    /// Told how it stands at `nowNs`; true when it has been away for too long.
    bool isTooLong(const session::Link& link, std::int64_t nowNs);

 private:
    const std::int64_t mostNs_;
    std::int64_t sinceNs_ = 0;  // 0: it is there
};

/// A model that knows the daemon's machines; empty where they cannot be asked for.
session::LiveModel modelWithNodes(client::DaemonClient& daemon);

/// Returns when all runs have ended or the user leaves; the exit code says how they ended.
int followRuns(CliContext& context, client::DaemonClient& daemon, const FollowJob& job);

/// 5 when a run failed, else 3 when one was cancelled, else 0 (also while runs still go).
ExitCode exitCodeOf(const std::vector<values::RunSummary>& runs);

}  // namespace millrace::cli

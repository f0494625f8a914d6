#pragma once
// CommittedLine and AckOrder: what LineIntake reports to a run after a commit: a worker's line that
// is in the store, and the worker to acknowledge it to. Plain values.
#include <cstdint>
#include <string>

#include "backend/rank/rank_line.h"
#include "backend/rank/rank_server.h"

namespace millrace::agent {

/// A line that is in the store now.
struct CommittedLine {
    std::string runId, worker;
    int attempt = 1;
    rank::RankLine line;
    bool hasBegun = false;    ///< as runs::LineCommit, of the lines that it was committed with
    bool hasSettled = false;  ///< likewise
};

/// The acknowledgement for a worker.
struct AckOrder {
    std::string runId;
    int doorAttempt = 1;  ///< of the connection
    rank::ConnectionId connection = 0;
    std::int64_t attempt = 1;  ///< of the lines
    std::uint64_t seq = 0;
};

}  // namespace millrace::agent

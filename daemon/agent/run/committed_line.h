#pragma once
// CommittedLine and AckOrder: what LineIntake reports to a run after a commit: a worker's line that
// is in the store, and the worker to acknowledge it to. Plain values.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/rank/rank_line.h"
#include "backend/rank/rank_server.h"
#include "backend/text/text.h"

namespace millrace::agent {

/// A line that is in the store now.
struct CommittedLine {
    std::string runId, worker;
    int attempt = 1;
    rank::RankLine line;
    bool hasBegun = false;    ///< as runs::LineCommit, of the lines that it was committed with
    bool hasSettled = false;  ///< likewise
};

/// The news for people in a line: a worker's error, or that one of its lines is dropped.
inline std::vector<std::string> newsOf(const CommittedLine& committed) {
    if (const auto* error = std::get_if<rank::ErrorLine>(&committed.line.body)) {
        return {strCat(committed.worker, ": ", error->message)};
    }
    const auto* dropped = std::get_if<rank::Dropped>(&committed.line.body);
    return dropped == nullptr
               ? std::vector<std::string>()
               : std::vector{
                     strCat(committed.worker, ": one of its lines is dropped: ", dropped->why)};
}

/// The answer to a worker.
struct AckOrder {
    std::string runId;
    int doorAttempt = 1;  ///< of the connection
    rank::ConnectionId connection = 0;
    std::int64_t attempt = 1;  ///< of the lines
    std::uint64_t seq = 0;
};

}  // namespace millrace::agent

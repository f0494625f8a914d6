#pragma once
// GangTermination: decides whether the daemon ends the gang of the current attempt, and why. Used
// by ActiveRun.
//
// It ends a gang
// - when the grace of a stop is over,
// - when its feed outlives its ranks,
// - when a rank has left too early, does not leave, or is silent,
// - when its ranks hold each other up.
//
// Ranks of a script need not meet at each step, but the feed deals each step to all of them: once
// one has left, the others starve. Threads: one owner (the controller's).
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/agent/crew/gang.h"
#include "daemon/agent/run/attempt_state.h"
#include "daemon/agent/run/done_words.h"
#include "daemon/agent/run/run_health.h"
#include "daemon/agent/run/verdict.h"

namespace millrace::agent {

/// The run was asked to stop, or its ranks to move to other nodes.
struct GangStop {
    std::string reason;
    std::int64_t deadlineNs = 0;
    bool isMove = false;  ///< its ranks go on elsewhere, in another attempt
};

/// The facts that decide whether a gang is ended.
struct GangView {
    Stage stage = Stage::kRunning;
    std::int64_t stageNs = 0;  ///< how long it has been in that stage
    const std::optional<engines::State>& gang;
    AttemptExtent extent;
    bool isStopRequested = false;
    bool isMove = false;  ///< that stop moves the ranks: they resume elsewhere
    bool isGraceOver = false;
};

class GangTermination {
 public:
    /// From SIGTERM to SIGKILL, for workers that have had their time to stop.
    static constexpr std::chrono::milliseconds kGrace{2'000};

    /// `silentNs`: how long a rank may be silent before its gang is ended. The others outlive it.
    GangTermination(SharedSpec spec, std::int64_t silentNs, const RunHealth& health,
                    const DoneWords& done)
        : spec_(std::move(spec)), silentNs_(silentNs), health_(health), done_(done) {}

    /// Starts another attempt: nothing ends it yet.
    void begin() { cut_ = Cut(); }
    /// Returns whether the gang must be ended now. The reason is kept until the next attempt.
    bool isDue(const GangView& view);
    /// Time from SIGTERM to SIGKILL. `leftNs`: until the requested stop must be over. Without a
    /// stream the signal is how ranks learn of a stop, so they get all of that time.
    std::chrono::milliseconds grace(std::int64_t leftNs) const;
    /// The reason for the run's history; "": users need not read it.
    const std::string& event() const { return cut_.event; }
    /// The reason for the logs of its workers; "": the stop or the end of another part explains it.
    const std::string& why() const { return cut_.why; }
    /// Whether a rank stands still: the next attempt may do better.
    bool isStandstill() const { return !cut_.stillRank.empty(); }
    /// Adds the reason to the facts that the attempt is judged by.
    void tell(AttemptReports& facts) const;

 private:
    struct Cut {
        std::string event, why;
        std::string reason;  // AttemptReports::cutReason
        std::string stillRank;
    };

    std::optional<Cut> find(const GangView& view) const;
    std::optional<Cut> findAmongRanks(const GangView& view) const;
    std::optional<Cut> findLeftAlone(const GangView& view) const;
    std::optional<Cut> findLate() const;
    std::optional<Cut> findSilent() const;
    std::optional<Cut> findHeldUp() const;
    std::int64_t lingerNs(const GangView& view) const;

    const SharedSpec spec_;
    std::int64_t silentNs_;
    const RunHealth& health_;
    const DoneWords& done_;
    Cut cut_;
};

}  // namespace millrace::agent

#pragma once
// Plan: what a seed draws, which runs there are and what fails when; as one line of text, too, so
// that a course can be kept that a later version of this draws no more.
//
// Threads: values. Failure: planOf() gives nothing for another text.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::sim {

struct Plan {
    enum class Kind {
        kPauseHead,
        kPauseAgent,
        kKillHead,
        kKillAgent,
        kCut,
        kCutOneWay,
        kKillRank,
        kStop,
        kUnreadable,  ///< the head is killed, and the next one cannot read its gang's record
        kNoTunnel,    ///< an agent is killed, and the next one cannot open its tunnels
        kDrain,       ///< a node is drained for a while
        kLeave,       ///< a bound agent is told to end, and another one comes
        kDiskFull,    ///< a machine's disk has no room
        kDiskFails,   ///< calls to a machine's disk fail, one or for a while
        kPowerCut,    ///< a machine loses all its processes, and what was not synced
        kClockJump,   ///< somebody sets a machine's clock, by minutes or hours
        kSecondHead,  ///< another head is started over the state directory
        kUpgrade,     ///< another build is installed everywhere, and the head restarted
        kTwin,        ///< an agent with a node's name runs on another machine
        kKillData,    ///< a data worker is killed
        kSlowStart,   ///< starts on a machine take long
        kSubmit,      ///< another run is submitted; node: parts, rank: threads, forMs: its steps
        kCancel,      ///< the newest run is stopped for good
        kStopTwice,   ///< the run is stopped with a long grace, then with a short one
        kHang,        ///< a rank hangs, and ignores stops
        kUsurper,     ///< a node's cable is cut for seconds, and a twin of it comes meanwhile
        kLease,       ///< a node's cable is cut for longer than its bound agent's lease
        kStray,       ///< workers of a run that the store does not know live on a machine
        kSpoilt,      ///< the head is killed, and the next one cannot read the run's spec
        kRefused,     ///< the store refuses the metrics of some steps; rank: how many
        kClients,     ///< users submit, stop, resume, delete and restore runs at random
        kAdoptFails,  ///< the head is killed, and a machine's disk fails as the next one adopts
        kDoneFails,   ///< the head's disk fails as the run ends; isUp: and a rank is killed
    };
    struct Fault {
        Kind kind = Kind::kPauseHead;
        std::int64_t atMs = 0, forMs = 0;
        int node = 1;       ///< number of an agent, a cable or a machine (0: the head's)
        int rank = 0;       ///< number of the killed rank; seconds of a slow start
        bool isUp = false;  ///< direction of a cut: towards the head
    };
    /// Ratio of a clock's jump to its fault's duration.
    static constexpr std::int64_t kJump = 360;
    int nodes = 1;           ///< besides the head's machine
    bool trainsHere = true;  ///< the head's machine has part 0
    int trainNodes = 2;      ///< nodes over which the ranks are spread
    int ranks = 2;
    int dataWorkers = 0;
    std::int64_t steps = 100, checkpointEvery = 10;
    bool handsOver = false;  ///< nodes cannot see the head's checkpoints
    std::vector<Fault> faults;

    bool has(Kind kind) const;
    static Plan drawn(std::uint64_t seed);
    static std::optional<Plan> of(std::string_view text);
    /// "nodes ranks steps every [elsewhere [data [hands]]] | kind at for node rank up | ...", times
    /// in ms; elsewhere: trainNodes, where the head's machine has no part, else 0; data:
    /// dataWorkers; hands: 1, where nodes hand their checkpoints over.
    std::string text() const;
};

/// The plan as text for people.
std::string sentenceOf(const Plan::Fault& fault);

}  // namespace millrace::sim

#pragma once
// Engine: keeps the workers of gangs on one machine. EmbeddedEngine is the real one.
//
// It knows processes and how they ended, not whether their work was done: exit 0 is not success. A
// gang has ended when no worker of it is left. What cannot be asked for just now is an error and no
// state: it has not ended for that; nor has one that the engine does not know (Phase::kMissing).
// Threads: any, each implementation locks itself.
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/schedule/node_fit.h"
#include "backend/values/hand_over.h"

namespace millrace::engines {

/// Where a group's ranks stand among those of an attempt that is spread over several nodes.
struct RankPlace {
    int first = 0;            ///< the rank of its first process
    int world = 0;            ///< ranks of all nodes; 0: the group's own are all there are
    int node = 0, nodes = 1;  ///< GROUP_RANK, GROUP_WORLD_SIZE
    std::string masterAddress = "127.0.0.1";
    int masterPort = 0;  ///< 0: the engine finds a free one
    bool operator==(const RankPlace&) const = default;
};

/// Equal places of one kind: `slots` places with `procs` processes each.
struct Group {
    std::string name;  ///< "feed", "rank"; a worker is called name, or name + number (workerNames)
    int slots = 1, procs = 1;
    schedule::Resources resources;  ///< of one slot
    bool hasRanks = false;          ///< gets RANK, WORLD_SIZE, ... and always a number in its name
    bool isCritical = true;  ///< its first failure ends the gang; the gang is done when all are
    std::vector<std::string> argv;  ///< "{rank}" in an argument becomes the process's number
    std::map<std::string, std::string> environment;  ///< no secrets: engines show it
    std::string workingDirectory;                    ///< "" = the worker's directory
    /// A program of the user's own: nothing of this process's environment reaches it, its arguments
    /// stay as they are, and of torchrun's variables it gets all.
    bool isUsers = false;
    /// So often a worker of it that failed is not the gang's end: it counts as not started, and the
    /// same submit starts it again in its place. Not one that ended with kExitInput, nor one whose
    /// guardian is gone, nor when a worker with a rank has ended.
    int replacements = 0;
    RankPlace place;  ///< of a group with ranks
};

/// The names of the group's workers, in order: also their folders' names.
std::vector<std::string> workerNames(const Group& group);

/// A run's workers, placed together or not at all.
struct Gang {
    /// "<run>.a<attempt>", or "<run>.a<attempt>.<part>" of what belongs to an attempt and is placed
    /// by itself ("d3", "p1"); [a-z0-9][a-z0-9.-]{0,59}: name and idempotency key.
    std::string key;
    int attempt = 1;
    std::vector<Group> groups;
    std::chrono::milliseconds grace{15'000};  ///< between SIGTERM and SIGKILL
    std::chrono::seconds orphanLease{600};    ///< workers end when nobody asked for them so long
    std::chrono::seconds timeLimit{0};        ///< 0: none
};

/// As text, for another node's agent, and back: key, attempt and groups. kInvalidArgument for what
/// is no gang's.
std::string gangText(const Gang& gang);
Result<Gang> gangFromText(std::string_view text);

/// Identity of everything in the gang below its key: hex.
std::string gangHash(const Gang& gang);

enum class Phase { kSubmitting, kPlacing, kRunning, kStopping, kEnded, kMissing };
enum class Cause {
    kNone,
    kOk,
    kWorkerFailed,
    kCancelled,
    kNodeLost,
    kTimeLimit,
    kRefused,
    kEngineFailed,
    kEngineForgot
};
std::string_view textOf(Phase phase);  ///< "submitting", ...
std::string_view textOf(Cause cause);  ///< "none", "ok", "worker_failed", ...

/// One process of a gang.
struct WorkerState {
    std::string name;  ///< "feed", "rank0"
    std::string node;  ///< another one, by name; "": the engine's own
    int rank = -1;     ///< -1: not a rank
    bool isCritical = true;
    bool isStarted = false;
    int numReplaced = 0;          ///< workers that had its place before (Group::replacements)
    std::int64_t pid = 0;         ///< of the command, once started
    std::optional<int> exitCode;  ///< 128 + n for signal n; nothing while it lives
    bool isExitAssumed = false;   ///< it is gone without a record: exitCode is a guess
    int signal = 0;               ///< that ended it; 0: none
    std::int64_t endedMs = 0;
    /// Of all its processes, and of the workers that had its place before; known of those that have
    /// ended. Memory is that of the largest process.
    double cpuSeconds = 0;
    std::int64_t peakMemoryBytes = 0;
    bool isSilent = false;           ///< alive, but its guardian has answered nothing for a while:
                                     ///< stopped, or the machine is overloaded
    std::int64_t silentSinceMs = 0;  ///< of its last answer, while isSilent
    bool operator==(const WorkerState&) const = default;
};

struct State {
    Phase phase = Phase::kMissing;
    Cause cause = Cause::kNone;  ///< set from kStopping on
    int exitCode = 0;            ///< of `worker`
    std::string worker;          ///< the first critical worker that failed
    std::string reason;          ///< a sentence, or the engine's own words
    std::vector<WorkerState> workers;
    int masterPort = 0;  ///< where its ranks meet (MASTER_PORT); 0: none
    /// The checkpoint that another node is sending to the head; the gang ends after it.
    std::optional<values::HandOver> handOver;
    std::int64_t asOfMs = 0;
    bool operator==(const State&) const = default;
};

/// Whether all of its workers were started.
bool isWhole(const State& state);
/// Whether it is known and has not ended.
bool isLiving(const State& state);
/// Whether a worker with a rank lives.
bool hasLivingRank(const State& state);

class Engine {
 public:
    virtual ~Engine() = default;
    /// Idempotent, also after a restart. kAlreadyExists: the key is another gang's.
    virtual Status submit(const Gang& gang) = 0;
    /// Whether it knows the key.
    virtual Result<bool> has(const std::string& key) = 0;
    virtual Result<State> state(const std::string& key) = 0;
    /// Everything that has not ended, and what ended since the last call, by key.
    virtual Result<std::vector<std::pair<std::string, State>>> list() = 0;
    /// Success means "asked": the end comes as a state. Of a missing or ended gang: fine. `why` is
    /// a sentence for the workers' logs: they end for a reason that they cannot know.
    virtual Status cancel(const std::string& key, std::chrono::milliseconds grace,
                          std::string_view why) = 0;
    /// The engine's own last words about a worker, for one that never spoke itself: lines, at most
    /// `maxBytes`; "": it has none. What workers print is not the engine's: job::WorkerLogs.
    virtual Result<std::string> log(const std::string& key, std::string_view worker,
                                    std::size_t maxBytes) = 0;
    /// The machine's resources.
    virtual schedule::Resources total() const = 0;
    /// Where a gang of this key keeps its files.
    virtual Result<std::string> gangDirectory(std::string_view key) const = 0;
    /// Keys of the gangs that have files here, those of ended ones too.
    virtual std::vector<std::string> recordedKeys() const = 0;
    /// Removes the files of a gang that has ended and whose end list() has told: record, logs. Fine
    /// where there are none; kFailedPrecondition while it is followed.
    virtual Status forget(const std::string& key) = 0;
};

}  // namespace millrace::engines

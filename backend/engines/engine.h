#pragma once
// Engine: runs the workers of gangs on one machine. EmbeddedEngine is the real implementation.
//
// It knows processes and how they ended, not whether their work was done: exit 0 does not mean
// success. A gang has ended when none of its workers is left. If a state cannot be determined now,
// the call returns an error: the gang has not ended because of that. Neither has a gang that the
// engine does not know (Phase::kMissing).
// Threads: any, each implementation locks itself.
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/core/status.h"
#include "backend/schedule/node_fit.h"
#include "backend/text/json.h"
#include "backend/values/hand_over.h"

namespace millrace::engines {

/// Position of a group's ranks in an attempt that spans several nodes.
struct RankPlace {
    int first = 0;            ///< the rank of its first process
    int world = 0;            ///< ranks on all nodes; 0: only this group's
    int node = 0, nodes = 1;  ///< GROUP_RANK, GROUP_WORLD_SIZE
    std::string masterAddress = "127.0.0.1";
    int masterPort = 0;  ///< 0: the engine finds a free one
    bool operator==(const RankPlace&) const = default;
};

/// Equal slots of one kind: `slots` slots with `procs` processes each.
struct Group {
    std::string name;  ///< "feed", "rank"; a worker is called name, or name + number (workerNames)
    int slots = 1, procs = 1;
    schedule::Resources resources;  ///< per slot
    bool hasRanks = false;          ///< gets RANK, WORLD_SIZE, ... and always a number in its name
    bool isCritical = true;  ///< its first failure ends the gang; the gang is done when all of
                             ///< these are
    std::vector<std::string> argv;  ///< "{rank}" in an argument becomes the process's number
    std::map<std::string, std::string> environment;  ///< no secrets: engines show it
    std::string workingDirectory;                    ///< "" = the worker's directory
    /// The user's own program: it inherits nothing from this process's environment, its arguments
    /// stay unchanged, and it gets all of torchrun's variables.
    bool isUsers = false;
    /// How often a failed worker is replaced instead of ending the gang: it counts as not started,
    /// and the same submit starts it again. A worker is not replaced if it ended with kExitInput,
    /// if its guardian is gone, or once a worker with a rank has ended.
    int replacements = 0;
    RankPlace place;  ///< for a group with ranks
};

/// The names of the group's workers, in order; also the names of their folders.
std::vector<std::string> workerNames(const Group& group);

/// A run's workers, placed together or not at all.
struct Gang {
    /// "<run>.a<attempt>", or "<run>.a<attempt>.<part>" for a separately placed part of an attempt
    /// ("d3", "p1"); [a-z0-9][a-z0-9.-]{0,59}: name and idempotency key.
    std::string key;
    int attempt = 1;
    std::vector<Group> groups;
    std::chrono::milliseconds grace{15'000};  ///< between SIGTERM and SIGKILL
    std::chrono::seconds orphanLease{600};    ///< workers end if no request came for this long
};

/// Converts a gang to text for another node's agent, and back: key, attempt and groups.
/// kInvalidArgument for an invalid text.
std::string gangText(const Gang& gang);
Result<Gang> gangFromText(std::string_view text);

/// Hash of everything in the gang except its key: hex.
std::string gangHash(const Gang& gang);

enum class Phase { kSubmitting, kPlacing, kRunning, kStopping, kEnded, kMissing };
enum class Cause { kNone, kOk, kWorkerFailed, kCancelled, kNodeLost, kRefused, kEngineFailed };
std::string_view textOf(Phase phase);  ///< "submitting", ...
std::string_view textOf(Cause cause);  ///< "none", "ok", "worker_failed", ...

/// One process of a gang.
struct WorkerState {
    std::string name;  ///< "feed", "rank0"
    std::string node;  ///< name of another node; "": the engine's own
    int rank = -1;     ///< -1: not a rank
    bool isCritical = true;
    bool isStarted = false;
    int numReplaced = 0;          ///< earlier workers in its place (Group::replacements)
    std::int64_t pid = 0;         ///< of the command, once started
    std::optional<int> exitCode;  ///< 128 + n for signal n; nothing while it lives
    bool isExitAssumed = false;   ///< it is gone without a record: exitCode is a guess
    int signal = 0;               ///< the signal that ended it; 0: none
    std::int64_t endedMs = 0;
    /// Totals of all its processes, and of earlier workers in its place; includes only processes
    /// that have ended. Memory is that of the largest process.
    double cpuSeconds = 0;
    std::int64_t peakMemoryBytes = 0;
    bool isSilent = false;           ///< alive, but its guardian has not answered for a while:
                                     ///< stopped, or the machine is overloaded
    std::int64_t silentSinceMs = 0;  ///< time of its last answer, while isSilent
    bool operator==(const WorkerState&) const = default;
};

struct State {
    Phase phase = Phase::kMissing;
    Cause cause = Cause::kNone;  ///< set from kStopping on
    int exitCode = 0;            ///< of `worker`
    std::string worker;          ///< the first critical worker that failed
    std::string reason;          ///< a sentence, or the engine's own message
    std::vector<WorkerState> workers;
    int masterPort = 0;  ///< port of its ranks' rendezvous (MASTER_PORT); 0: none
    /// A checkpoint that another node is sending to the head; the gang ends after it.
    std::optional<values::HandOver> handOver;
    std::int64_t asOfMs = 0;
    bool operator==(const State&) const = default;
};

/// Whether all of its workers were started.
bool isWhole(const State& state);
/// Whether it is known and has not ended.
bool isLiving(const State& state);
/// Whether a worker with a rank is alive.
bool hasLivingRank(const State& state);

class Engine {
 public:
    virtual ~Engine() = default;
    /// Idempotent, also after a restart. kAlreadyExists: the key belongs to another gang.
    virtual Status submit(const Gang& gang) = 0;
    /// Whether it knows the key.
    virtual Result<bool> has(const std::string& key) = 0;
    virtual Result<State> state(const std::string& key) = 0;
    /// All gangs that have not ended, and those that ended since the last call, by key.
    virtual Result<std::vector<std::pair<std::string, State>>> list() = 0;
    /// Success means that the end was requested: the end itself appears in the state. Succeeds for
    /// a missing or ended gang. `why` is a sentence for the workers' logs, since they cannot know
    /// the reason.
    virtual Status cancel(const std::string& key, std::chrono::milliseconds grace,
                          std::string_view why) = 0;
    /// The engine's own last words about a worker, for a worker that printed nothing: lines, at
    /// most `maxBytes`; "": none. job::WorkerLogs has the workers' own output.
    virtual Result<std::string> log(const std::string& key, std::string_view worker,
                                    std::size_t maxBytes) = 0;
    /// The machine's resources.
    virtual schedule::Resources total() const = 0;
    /// The directory with the files of a gang of this key.
    virtual Result<std::string> gangDirectory(std::string_view key) const = 0;
    /// Keys of the gangs with files here, including ended ones.
    virtual std::vector<std::string> recordedKeys() const = 0;
    /// Removes the files (record, logs) of a gang that has ended, once list() has reported its end.
    /// Succeeds if there are none; kFailedPrecondition while the gang is followed.
    virtual Status forget(const std::string& key) = 0;
};

}  // namespace millrace::engines

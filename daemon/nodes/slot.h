#pragma once
// Slot: the agent of a node. It keeps what a head places here, data workers and parts of attempts
// that train, with the same guardians, files and adoption as the head's own, and tells the head how
// they do.
//
// Workers outlive the agent and the head: when either is gone they go on, and a new agent over the
// same state directory adopts them. Not so those of a bound agent: they end with it, and it ends
// with its head (--lease). What is new goes to the head at most five times a second:
// states of gangs, lines of logs, samples of the node while somebody watches. Files of a data
// worker go when its end and its log are told; those of a part only when the head says that it is
// to be there no more: a part that nobody remembers would be started a second time. Threads: made
// and ended by one owner; works on a thread of its own ("slot"). Owns: engine, telemetry, the
// connection. Failure: of start(), a sentence; later, failure().
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "backend/core/clock.h"
#include "backend/core/mutex.h"
#include "backend/core/unique_fd.h"
#include "backend/engines/engine.h"
#include "backend/job/log_files.h"
#include "daemon/agent/node_table.h"
#include "daemon/agent/telemetry_service.h"
#include "daemon/config/daemon_config.h"
#include "daemon/nodes/agent_end.h"
#include "daemon/nodes/uplink.h"

namespace millrace::nodes {

/// What a slot works with.
struct SlotParts {
    std::unique_ptr<engines::Engine> engine = {};
    std::unique_ptr<Uplink> link = {};
    values::NodeInfo info = {};  ///< of the node, as the head is told
    std::string machine = {};    ///< that it is, with its state directory
    std::function<Result<std::unique_ptr<PartTunnel>>(const agent::PartName& part)> openTunnel = {};
    std::unique_ptr<HeadFiles> files = {};  ///< null: no file goes to the head, or comes
};

class Slot {
 public:
    /// `clock` outlives it. `end`: the head wants this node's agent to end, and nothing is left of
    /// its workers; from the slot's thread.
    static Result<std::unique_ptr<Slot>> start(const config::DaemonConfig& config,
                                               const std::string& buildId, const Clock& clock,
                                               std::function<void()> end);
    /// With what it works with, without a thread: turn() is for who simulates machines.
    Slot(const config::DaemonConfig& config, const Clock& clock, std::function<void()> end,
         SlotParts parts);
    /// Its workers go on.
    ~Slot();
    /// Of a bound agent: the head is told to have what is here elsewhere; `end` is called when
    /// nothing is left, or the grace is over. From any thread.
    void leave();
    /// Whether `end` was called, and why where nobody asked for it. kFailedPrecondition and its
    /// like: its head will never take this agent in. From any thread.
    bool isOver() const { return life_.isOver(); }
    Status failure() const { return life_.failure(); }
    /// Does what is due: obeys the head, follows the workers, reports.
    void turn();

 private:
    /// A worker's log.
    struct Log {
        job::LogKey key;
        std::uint64_t sent = 0;
    };
    /// What the head placed here, or released, on this connection.
    struct Placed {
        std::vector<Log> logs;
        bool isReleased = false;  ///< the head asks for it no more: its files may go
    };

    Status open(const std::string& buildId);
    void loop(std::stop_token stop);
    void call();
    void obey(const v1::HeadOrders& message);
    void place(const agent::NodeOrders::Placed& order);
    bool mayPlace(const std::string& key) const;
    Status begin(const std::string& key);
    Status layOutOnce(const std::string& key);
    Status openTunnel(const std::string& key);
    Status start(const std::string& key);
    void cancel(const std::string& key, std::chrono::milliseconds grace, std::string_view why);
    void dropUnplaced(const std::string& key);
    void follow();
    void hold(const std::string& key, engines::State& state);
    void report();
    void endAll(std::string_view why);
    void recallParts();
    void addGangs(v1::AgentReport& report);
    void addLogs(v1::AgentReport& report);
    bool isOutOfReach(const std::string& key);
    void giveUp(const std::string& key, engines::State& state, const Status& why);
    void showWorkers();
    bool forget(const std::string& key);
    void forgetOld();
    void forgetUnbegun() const;
    void news();
    bool sendLog(const std::string& key, Log& log, v1::AgentReport& report) const;

    const config::DaemonConfig config_;
    const Clock& clock_;
    AgentEnd life_;
    UniqueFd lifeLine_, lifeEnd_;  ///< of a bound agent: its workers end with the second
    agent::LiveTable live_;
    const job::FileLogs logs_;
    SlotParts parts_;
    std::unique_ptr<agent::TelemetryService> telemetry_;  ///< null: there are no samples
    // Of its thread:
    std::map<std::string, engines::State> gangs_;  ///< that live, or whose end is not told yet
    std::map<std::string, engines::Phase> held_;  ///< by gang: how it ended; files are on their way
    std::map<std::string, Placed> placed_;
    std::map<std::string, agent::Placement> notLaidOut_;  ///< by gang: their files are not here yet
    std::map<std::string, std::unique_ptr<PartTunnel>> tunnels_;  ///< of living parts
    std::map<std::string, std::string> troubles_;      ///< by gang: what stands in the log
    std::map<std::string, std::int64_t> unreachedNs_;  ///< by gang: not to be asked for since
    std::map<std::string, std::string> told_;          ///< by gang: the report that the head has
    std::unique_ptr<agent::TelemetryService::Watch> watch_;
    std::uint64_t sampled_ = 0;
    bool isLookedThrough_ = false;  ///< on this connection, for files of workers of before

    Mutex mutex_;
    CondVar wake_;
    bool hasNews_ MR_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace millrace::nodes

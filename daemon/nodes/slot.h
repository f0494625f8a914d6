#pragma once
// Slot: the agent of a node. It runs what a head places here, data workers and parts of attempts
// that train, with the same guardians, files and adoption as the head's own, and reports their
// state.
//
// Workers outlive the agent and the head: when either is gone they continue, and a new agent over
// the same state directory adopts them. Workers of a bound agent end with it, and it ends with its
// head (--lease). News goes to the head at most five times a second: states of gangs, log lines,
// and samples of the node while a client watches. Files of a data worker are removed when its end
// and its log have been reported. Files of a part are removed only when the head orders it: a part
// without them would be started a second time. Threads: made and ended by one owner; works on a
// thread of its own ("slot"). Owns: engine, telemetry, the connection. Failure: start() returns a
// sentence; later, failure().
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
#include "daemon/agent/membership/node_table.h"
#include "daemon/agent/telemetry_service.h"
#include "daemon/config/daemon_config.h"
#include "daemon/nodes/agent_end.h"
#include "daemon/nodes/uplink.h"

namespace millrace::nodes {

/// The parts that a slot works with.
struct SlotParts {
    std::unique_ptr<engines::Engine> engine = {};
    std::unique_ptr<Uplink> link = {};
    values::NodeInfo info = {};  ///< of the node, as reported to the head
    std::string machine = {};    ///< identifies the machine with its state directory
    std::function<Result<std::unique_ptr<PartTunnel>>(const agent::PartName& part)> openTunnel = {};
    std::unique_ptr<HeadFiles> files = {};  ///< null: no file is sent or fetched
};

class Slot {
 public:
    /// `clock` outlives it. `end`: called on the slot's thread when the head wants this agent to
    /// end and none of its workers is left.
    static Result<std::unique_ptr<Slot>> start(const config::DaemonConfig& config,
                                               const std::string& buildId, const Clock& clock,
                                               std::function<void()> end);
    /// Takes its parts as arguments and starts no thread; call turn(). For tests that simulate
    /// machines.
    Slot(const config::DaemonConfig& config, const Clock& clock, std::function<void()> end,
         SlotParts parts);
    /// Its workers continue.
    ~Slot();
    /// For a bound agent: asks the head to start elsewhere what is here. `end` is called when
    /// nothing is left, or the grace is over. From any thread.
    void leave();
    /// Whether `end` was called; failure(): the reason if no order asked for it.
    /// kFailedPrecondition and the like: its head will never accept this agent. From any thread.
    bool isOver() const { return life_.isOver(); }
    Status failure() const { return life_.failure(); }
    /// Does what is due: follows the head's orders, follows the workers, reports.
    void turn();

 private:
    /// A worker's log.
    struct Log {
        job::LogKey key;
        std::uint64_t sent = 0;
    };
    /// A gang that the head placed here, or released, over this connection.
    struct Placed {
        std::vector<Log> logs;
        bool isReleased = false;  ///< the head no longer asks for it: its files may be removed
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
    UniqueFd lifeLine_, lifeEnd_;  ///< of a bound agent: its workers end when the second closes
    agent::LiveTable live_;
    const job::FileLogs logs_;
    SlotParts parts_;
    std::unique_ptr<agent::TelemetryService> telemetry_;  ///< null: samples are off
    // For its thread only:
    std::map<std::string, engines::State> gangs_;  ///< alive, or with an unreported end
    std::map<std::string, engines::Phase> held_;   ///< by gang: how it ended; its files are moving
    std::map<std::string, Placed> placed_;
    std::map<std::string, agent::Placement> notLaidOut_;  ///< by gang: files are not written yet
    std::map<std::string, std::unique_ptr<PartTunnel>> tunnels_;  ///< of living parts
    std::map<std::string, std::string> troubles_;      ///< by gang: the reason logged last
    std::map<std::string, std::int64_t> unreachedNs_;  ///< by gang: first time it was out of reach
    std::map<std::string, std::string> told_;          ///< by gang: the last report sent
    std::shared_ptr<void> watch_;
    std::uint64_t sampled_ = 0;
    bool isLookedThrough_ = false;  ///< on this connection, for files of old workers

    Mutex mutex_;
    CondVar wake_;
    bool hasNews_ MR_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace millrace::nodes

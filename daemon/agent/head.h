#pragma once
// Head: builds and owns the parts of a daemon: store, engine, controller, telemetry. Used by
// main().
//
// Owns: all of them; destroys them in the right order. Failure: open() returns in one sentence what
// could not be opened. Runs that an earlier daemon left are adopted in open(), before anything
// starts.
#include <memory>

#include "backend/core/clock.h"
#include "backend/core/status.h"
#include "backend/engines/embedded_engine.h"
#include "backend/engines/poller.h"
#include "backend/job/log_files.h"
#include "backend/runs/run_store.h"
#include "daemon/agent/deleted_runs.h"
#include "daemon/agent/inspection.h"
#include "daemon/agent/membership/join_tokens.h"
#include "daemon/agent/membership/node_table.h"
#include "daemon/agent/membership/own_node.h"
#include "daemon/agent/run_controller.h"
#include "daemon/agent/run_service.h"
#include "daemon/agent/telemetry_service.h"
#include "daemon/config/daemon_config.h"

namespace millrace::agent {

class Head {
 public:
    /// `config` and `clock` outlive it.
    static Result<std::unique_ptr<Head>> open(const config::DaemonConfig& config,
                                              const Clock& clock);
    ~Head();

    RunService& runs() { return *service_; }
    const Inspection& inspection() const { return *inspection_; }
    Inspector& inspector() { return *inspector_; }
    RunController& controller() { return *controller_; }
    TelemetryService& telemetry() { return *telemetry_; }
    runs::RunStore& store() { return *store_; }
    const CheckpointCatalogue& checkpoints() const { return *checkpoints_; }
    NodeTable& nodes() { return *nodes_; }
    JoinTokens& tokens() { return *tokens_; }

 private:
    Head() = default;
    Status build(const config::DaemonConfig& config, const Clock& clock);

    LiveTable live_;
    RankListenerMaker listeners_;
    std::unique_ptr<runs::RunStore> store_;
    std::unique_ptr<CheckpointCatalogue> checkpoints_;
    std::unique_ptr<job::FileLogs> logs_;
    std::unique_ptr<engines::EmbeddedEngine> engine_;
    std::unique_ptr<TelemetryService> telemetry_;
    std::unique_ptr<NodeTable> nodes_;
    std::unique_ptr<JoinTokens> tokens_;
    std::unique_ptr<LoaderInspector> inspector_;
    std::unique_ptr<Inspection> inspection_;
    std::unique_ptr<engines::Poller> poller_;
    std::unique_ptr<AllNodes> allNodes_;
    std::unique_ptr<RunController> controller_;
    std::unique_ptr<DeletedRuns> deleted_;
    std::unique_ptr<RunService> service_;
};

}  // namespace millrace::agent

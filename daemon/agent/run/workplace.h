#pragma once
// Workplace: what runs work with. All of it outlives them.
#include <functional>
#include <string>

#include "backend/core/clock.h"
#include "backend/engines/engine.h"
#include "backend/job/worker_logs.h"
#include "backend/runs/run_store.h"
#include "daemon/agent/crew/nodes.h"
#include "daemon/agent/run/checkpoint_catalogue.h"
#include "daemon/agent/run/live_table.h"
#include "daemon/agent/run/side_thread.h"
#include "daemon/agent/run/worker_door.h"

namespace millrace::agent {

class ActiveRun;

/// How long things are given.
struct RunTimes {
    std::int64_t silentRankNs = 14'000'000'000;  ///< until the gang of a silent rank is ended
    std::int64_t crewPaceNs = 5'000'000'000;     ///< as CrewPlace::paceNs
};

struct Workplace {
    runs::RunStore& store;
    engines::Engine& engine;
    DoorMaker& doors;
    LiveTable& live;
    const CheckpointCatalogue& checkpoints;
    SideThread& side;       ///< for what reads or removes large files
    SideThread& documents;  ///< for plans and receipts: never behind a checkpoint's bytes
    const Clock& clock;
    const job::WorkerLogs& logs;
    std::string runsDir, binDir;
    std::function<void()> pokeEngine;  ///< something was asked of the engine
    std::function<DoorListener(const std::string&)> listener;  ///< of a run, for its door
    std::function<ActiveRun*(const std::string&)> find;        ///< null: it is active no more
    Nodes* nodes = nullptr;                                    ///< null: there is no other node
    bool trainsHere = true;  ///< feeds, ranks and data workers may be on the head's machine
    RunTimes times = {};
    std::string dataListen = {};  ///< HOST where a feed listens for other nodes; "": a unix socket
    std::string rankInterface = {};  ///< of this machine that `dataListen` is on; "": not known
};

}  // namespace millrace::agent

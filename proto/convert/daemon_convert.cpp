#include "proto/convert/daemon_convert.h"

#include "proto/convert/fields.h"

namespace millrace::convert {
MR_BOTH_WAYS(Handshake, HandshakeResponse) {
    MR_FIELD(version, version);
    MR_FIELD(protocolVersion, protocol_version);
    MR_FIELD(nowMs, now_ms);
}

MR_BOTH_WAYS(DaemonStatus, DaemonStatusResponse) {
    MR_FIELD(version, version);
    MR_FIELD(pid, pid);
    MR_FIELD(startedMs, started_ms);
    MR_PATH(address, address);
    MR_PATH(stateDir, state_dir);
    MR_PATH(binDir, bin_dir);
    MR_FIELD(runsRunning, runs_running);
    MR_FIELD(runsQueued, runs_queued);
    MR_FIELD(runsTotal, runs_total);
    MR_LIST(warnings, warnings);
    MR_PATH(configFile, config_file);
    MR_PATH(logFile, log_file);
    MR_FIELD(nodesListen, nodes_listen);
    MR_FIELD(nodesAddress, nodes_address);
    MR_FIELD(isClosed, no_train_here);
}

MR_BOTH_WAYS(DownReport, DownResponse) {
    MR_FIELD(runsStopped, runs_stopped);
    MR_FIELD(workersEnded, workers_ended);
    MR_FIELD(runsQueued, runs_queued);
    MR_FIELD(runsLeft, runs_left);
}

MR_BOTH_WAYS(StoreCheck, CheckStoreResponse) {
    MR_LIST(damage, damage);
    MR_PATH(path, path);
    MR_FIELD(bytes, bytes);
    MR_FIELD(runs, runs);
    MR_FIELD(seconds, seconds);
}

}  // namespace millrace::convert

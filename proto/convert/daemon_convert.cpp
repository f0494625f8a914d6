#include "proto/convert/daemon_convert.h"

#include "proto/convert/fields.h"

namespace millrace::convert {
namespace {

template <class Way>
void handshakeFields(Way, auto& value, auto& message) {
    MR_FIELD(version, version);
    MR_FIELD(protocolVersion, protocol_version);
    MR_LIST(capabilities, capabilities);
    MR_FIELD(nowMs, now_ms);
}

template <class Way>
void daemonStatusFields(Way, auto& value, auto& message) {
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
}

template <class Way>
void downReportFields(Way, auto& value, auto& message) {
    MR_FIELD(runsStopped, runs_stopped);
    MR_FIELD(workersEnded, workers_ended);
    MR_FIELD(runsQueued, runs_queued);
    MR_FIELD(runsLeft, runs_left);
}

template <class Way>
void storeCheckFields(Way, auto& value, auto& message) {
    MR_LIST(damage, damage);
    MR_PATH(path, path);
    MR_FIELD(bytes, bytes);
    MR_FIELD(runs, runs);
    MR_FIELD(seconds, seconds);
}

}  // namespace

v1::HandshakeResponse toProto(const values::Handshake& value) {
    return written<values::Handshake, v1::HandshakeResponse>(value, handshakeFields);
}
values::Handshake fromProto(const v1::HandshakeResponse& message) {
    return read<values::Handshake, v1::HandshakeResponse>(message, handshakeFields);
}

v1::DaemonStatusResponse toProto(const values::DaemonStatus& value) {
    return written<values::DaemonStatus, v1::DaemonStatusResponse>(value, daemonStatusFields);
}
values::DaemonStatus fromProto(const v1::DaemonStatusResponse& message) {
    return read<values::DaemonStatus, v1::DaemonStatusResponse>(message, daemonStatusFields);
}

v1::DownResponse toProto(const values::DownReport& value) {
    return written<values::DownReport, v1::DownResponse>(value, downReportFields);
}
values::DownReport fromProto(const v1::DownResponse& message) {
    return read<values::DownReport, v1::DownResponse>(message, downReportFields);
}

v1::CheckStoreResponse toProto(const values::StoreCheck& value) {
    return written<values::StoreCheck, v1::CheckStoreResponse>(value, storeCheckFields);
}
values::StoreCheck fromProto(const v1::CheckStoreResponse& message) {
    return read<values::StoreCheck, v1::CheckStoreResponse>(message, storeCheckFields);
}

}  // namespace millrace::convert

#pragma once
// What a daemon tells its clients of itself, as plain values: see daemon_values.h.
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::client {

struct Handshake {
    std::string version;  ///< the daemon's
    std::uint32_t protocolVersion = 0;
    std::vector<std::string> capabilities;
    std::int64_t nowMs = 0;
};
struct DaemonStatus {
    std::string version, address, stateDir, binDir;
    int pid = 0;
    std::int64_t startedMs = 0;
    std::int64_t runsRunning = 0, runsQueued = 0, runsTotal = 0;
    std::vector<std::string> warnings;
};
struct DownReport {
    int runsStopped = 0, workersEnded = 0, runsQueued = 0;
    int runsLeft = 0;  ///< that had not ended when the time was up
};
/// What a look through the daemon's run store found.
struct StoreCheck {
    std::vector<std::string> damage;  ///< none: it is sound; the first 20
    std::string path;
    std::uint64_t bytes = 0;
    std::int64_t runs = 0;  ///< deleted ones included
    double seconds = 0;
};

}  // namespace millrace::client

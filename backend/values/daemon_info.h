#pragma once
// A daemon's reports about itself, its shutdown and its store.
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::values {

struct Handshake {
    std::string version;  ///< the daemon's
    std::uint32_t protocolVersion = 0;
    std::int64_t nowMs = 0;
    bool operator==(const Handshake&) const = default;
};
struct DaemonStatus {
    std::string version, address, stateDir, binDir;
    std::string configFile;  ///< that was read, or would be if it existed; "": unknown
    std::string logFile;     ///< "": stderr
    std::string nodesListen, nodesAddress;  ///< as configured; "": not configured
    bool isClosed = false;                  ///< runs train on other nodes only
    int pid = 0;
    std::int64_t startedMs = 0;
    std::int64_t runsRunning = 0, runsQueued = 0, runsTotal = 0;
    std::vector<std::string> warnings;
    bool operator==(const DaemonStatus&) const = default;
};
struct DownReport {
    int runsStopped = 0, workersEnded = 0, runsQueued = 0;
    int runsLeft = 0;  ///< still running when the time was up; the next daemon takes them over
    bool operator==(const DownReport&) const = default;
};
/// Result of checking the daemon's run store.
struct StoreCheck {
    std::vector<std::string> damage;  ///< the first 20 problems; empty: the store is sound
    std::string path;
    std::uint64_t bytes = 0;
    std::int64_t runs = 0;  ///< deleted ones included
    double seconds = 0;     ///< duration of the check
    bool operator==(const StoreCheck&) const = default;
};

}  // namespace millrace::values

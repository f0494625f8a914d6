#pragma once
// The values of the services that no backend room owns: what a client shows beside a RunRecord.
//
// Plain values without proto types, so that app/session may hold them.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/runs/run_record.h"
#include "backend/telemetry/node_sample.h"

namespace millrace::convert {

/// A run as lists and live views show it: the stored record and what the daemon knows beside it.
struct RunView {
    runs::RunRecord record;                   ///< without documents
    std::string queuedReason;                 ///< what it waits for, one sentence
    std::int64_t epochs = 0;                  ///< that the spec asks for; 0: not known
    double busyMs = 0;                        ///< of rank 0 since its attempt began
    double stallMs = 0;                       ///< likewise, waiting for data
    std::int64_t progressMs = 0;              ///< time of that report, UTC ms; 0: none
    std::string model;                        ///< "dlrm"
    std::string dataset;                      ///< path(s) as written
    std::int64_t rowsRead = 0, rowsKept = 0;  ///< of committed steps
    std::string orderHash, evalOrderHash;     ///< "" unknown
    std::string trouble;                      ///< what is wrong while it goes on; "": nothing
    std::int64_t standsSinceMs = 0;           ///< it has not got on since, UTC ms; 0: it gets on
};

enum class LogLevel { kNone, kDebug, kInfo, kWarn, kError };

struct LogLine {
    std::int64_t timeMs = 0;
    std::string worker;  ///< "feed", "rank0"
    std::string text;
    LogLevel level = LogLevel::kNone;
    bool isStderr = false;
    int attempt = 1;
    bool operator==(const LogLine&) const = default;
};

/// A metric's value by name.
struct NamedPoint {
    std::string name;
    runs::MetricPoint point;
    bool operator==(const NamedPoint&) const = default;
};

/// What a worker of a running run takes of its node.
struct WorkerUse {
    std::string runId, worker;
    int pid = 0;
    std::optional<double> cpuPercent;  ///< of one core
    std::optional<std::uint64_t> memoryBytes;
    bool operator==(const WorkerUse&) const = default;
};

/// A node's fixed facts with those of its daemon.
struct NodeFacts {
    telemetry::NodeInfo info;
    std::string address, stateDir;
    bool isHead = true;
    int pid = 0;
};

/// A node's moment with its workers'.
struct NodeMoment {
    std::string node;
    telemetry::NodeSample sample;
    std::vector<WorkerUse> workers;
};

}  // namespace millrace::convert

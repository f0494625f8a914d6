#pragma once
// The scope in which a pid identifies a process: one pid namespace of one boot of one machine.
// Files that another daemon may read later (a worker's guardian.json, the lock of a state
// directory) store it with the pid.
//
// Threads: any.
#include <cstdint>
#include <string>

#include <sys/types.h>

#include "backend/text/json.h"

namespace millrace {

struct PidScope {
    std::string machine;            ///< /etc/machine-id; "": unknown
    std::string boot;               ///< bootId(); "": unknown
    std::int64_t pidNamespace = 0;  ///< its inode, unique within a boot; 0: unknown
    std::string host;               ///< the host name

    static PidScope ofThisProcess();
    /// Reads the members written by addTo(); missing ones are unknown.
    static PidScope fromJson(const Json& record);
    void addTo(Json& record) const;
    bool operator==(const PidScope&) const = default;
};

/// Whether this process can look up the pids in a record.
enum class PidReach {
    kHere,       ///< its own namespace: they can be looked up and signalled
    kGone,       ///< this machine has rebooted since: they have all ended
    kElsewhere,  ///< another machine or namespace: nothing is known about them
};

/// Two boots belong to one machine only if both the machine id and the host name are equal: images
/// of virtual machines and containers are copied with their id. A machine without an id cannot
/// prove it. A record written during this machine's present boot belongs to another machine: pods
/// and copied images may have equal ids and names. `ageMs`: time since the record was last written.
PidReach reachOf(const PidScope& record, const PidScope& here, std::int64_t ageMs);

/// Field 22 of /proc/PID/stat: clock ticks after the boot; with the pid it names one process of a
/// boot. Returns -1 if the process does not exist or is a zombie, and an error if it cannot tell
/// (no free descriptor).
Result<std::int64_t> processStartTime(pid_t pid);

}  // namespace millrace

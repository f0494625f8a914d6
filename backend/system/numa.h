#pragma once
// The memory nodes of this machine, and pinning a thread to one of them.
//
// After a move to another socket, a thread's buffers are behind the link between the sockets. With
// more than one node, worker threads are therefore distributed over the nodes and stay there; the
// kernel chooses the core.
// Source: Linux, Documentation/admin-guide/cputopology.rst and numastat (sysfs node directories).
// Threads: pinToNode() affects only the calling thread. Failure: without information about nodes,
// or without permission, nothing changes.
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// The CPUs of each node on which the calling thread may run; nodes without any are left out.
/// Empty: unknown. `root`: for tests, replaces /sys/devices/system/node.
std::vector<std::vector<int>> numaNodes(const std::string& root = "/sys/devices/system/node");

/// Parses "0-3,8,10-11" from sysfs; empty for an invalid text.
std::vector<int> parseCpuList(std::string_view text);

/// Pins the calling thread to the node of worker number `worker`, round-robin. Returns false with
/// fewer than two nodes, or if the kernel refuses.
bool pinToNode(const std::vector<std::vector<int>>& nodes, int worker);

}  // namespace millrace

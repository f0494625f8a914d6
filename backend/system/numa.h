#pragma once
// Memory nodes of this machine, and keeping a thread on one of them.
//
// A thread that moves to another socket finds its buffers behind the link between them; where there
// is more than one node, working threads are shared out over the nodes and stay there. Which core
// of the node they run on is the kernel's business.
// Source: Linux, Documentation/admin-guide/cputopology.rst and numastat (sysfs node directories).
// Threads: pin() changes the calling thread alone. Failure: a machine that does not tell its nodes,
// and one that refuses, is left as it is.
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// The CPUs of each node that the calling thread may run on; nodes without any are left out.
/// Empty: not told. `root`: for tests, in place of /sys/devices/system/node.
std::vector<std::vector<int>> numaNodes(const std::string& root = "/sys/devices/system/node");

/// "0-3,8,10-11" of sysfs; empty for a text that is none.
std::vector<int> parseCpuList(std::string_view text);

/// Keeps the calling thread on the node of worker number `worker`, in turns; false when there are
/// fewer than two nodes or the kernel refuses.
bool pinToNode(const std::vector<std::vector<int>>& nodes, int worker);

}  // namespace millrace

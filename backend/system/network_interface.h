#pragma once
// The network interface of this machine that faces another one, and its address.
//
// Threads: any. Failure: "" if it is unknown, or an error.
#include <string>

#include "backend/core/status.h"

namespace millrace {

/// The name ("eth0") of the interface that leads to `host`, a name or an address; for an address of
/// this machine, the interface that has it. Looks a name up, but sends nothing to `host`.
std::string interfaceFacing(const std::string& host);
/// The address of that interface: "10.1.2.3", "[fd00::1]".
std::string addressFacing(const std::string& host);
/// Whether `host`, a name or an address, resolves to loopback addresses only (127/8, ::1).
bool isLoopbackHost(const std::string& host);
/// The address of this machine that `text` names. A name or an address is used unchanged ("node7",
/// "10.1.2.3", "fd00::1" as "[fd00::1]"). For a network in CIDR notation ("10.1.0.0/16",
/// "fd00::/8", RFC 4632 and 4291) it is the first address of an interface in that network.
/// kInvalidArgument for other text, kNotFound if no interface is in that network.
Result<std::string> ownAddressAs(const std::string& text);

}  // namespace millrace

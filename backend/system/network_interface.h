#pragma once
// The network interface of this machine that faces another one, and its address.
//
// Threads: any. Failure: "" where it cannot be told, or a sentence.
#include <string>

#include "backend/core/status.h"

namespace millrace {

/// The name ("eth0") of the interface over which `host`, a name or an address, is reached; of an
/// address of this machine itself the one that has it. Nothing is sent to `host`; a name is looked
/// up.
std::string interfaceFacing(const std::string& host);
/// The address of that interface: "10.1.2.3", "[fd00::1]".
std::string addressFacing(const std::string& host);
/// Whether `host`, a name or an address, is known and means loopback addresses alone (127/8, ::1).
bool isLoopbackHost(const std::string& host);
/// Where this machine is to be reached, as somebody says it: a name or an address is taken as it
/// is ("node7", "10.1.2.3", "fd00::1" as "[fd00::1]"); of a network in CIDR notation
/// ("10.1.0.0/16", "fd00::/8", RFC 4632 and 4291) the first address that an interface has in it.
/// kInvalidArgument for what is none of these, kNotFound where no interface is in that network.
Result<std::string> ownAddressAs(const std::string& text);

}  // namespace millrace

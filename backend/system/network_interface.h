#pragma once
// The network interface of this machine that faces another one, and its address.
//
// Threads: any. Failure: "" where it cannot be told.
#include <string>

namespace millrace {

/// The name ("eth0") of the interface over which `host`, a name or an address, is reached; of an
/// address of this machine itself the one that has it. Nothing is sent to `host`; a name is looked
/// up.
std::string interfaceFacing(const std::string& host);
/// The address of that interface: "10.1.2.3", "[fd00::1]".
std::string addressFacing(const std::string& host);

}  // namespace millrace

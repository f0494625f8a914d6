#pragma once
// Identity of this boot of the machine, and the time since it started.
//
// A pid and a start time identify a process only within a boot; the wall clock may jump, the time
// since the boot does not.
#include <cstdint>
#include <string>

namespace millrace {

/// The kernel's random id of this boot; "" if there is none.
std::string bootId();
/// Milliseconds since the boot, including suspended time.
std::int64_t bootTimeMs();

}  // namespace millrace

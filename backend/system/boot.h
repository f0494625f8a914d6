#pragma once
// This boot of the machine: what tells it from others, and the time since its start.
//
// A pid and a start time name one process within a boot only; the wall clock may jump, the time
// since the boot does not.
#include <cstdint>
#include <string>

namespace millrace {

/// The kernel's random id of this boot; "" where there is none.
std::string bootId();
/// Milliseconds since the boot, suspended ones included.
std::int64_t bootTimeMs();

}  // namespace millrace

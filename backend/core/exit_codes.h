#pragma once
// Exit codes of the workers (millrace-loader, millrace-trainer, millrace-exec): their meaning, and
// the errors that lead to them. The daemon decides by them whether to restart;
// docs/reference/exit-codes.md. One code of an agent is here too, since `millrace up` reads it.
#include <functional>
#include <string_view>

#include "backend/core/status.h"

namespace millrace {

inline constexpr int kExitDone = 0;
inline constexpr int kExitUsage = 2;      ///< invalid command line
inline constexpr int kExitStopped = 3;    ///< stopped on request, with a checkpoint if there is one
inline constexpr int kExitInput = 4;      ///< spec, data, checkpoint: a retry fails again; also a
                                          ///< memory limit below the plan's need
inline constexpr int kExitOther = 5;      ///< everything else: a retry may succeed
inline constexpr int kExitResources = 6;  ///< memory, disk or a limit during the run: not the
                                          ///< input's fault
inline constexpr int kExitServed = 7;     ///< an agent's: another one serves its state directory
inline constexpr int kExitShim = 125;     ///< millrace-exec's own failure; 126, 127: the command's
inline constexpr int kExitSignal = 128;   ///< + n: ended by signal n

int workerExitOf(const Status& status);

/// "input or data error", ...: for people; "" for other codes.
std::string_view meaningOf(int code);

/// The outermost call of a worker: returns the result of `body`. Prints an exception that escapes
/// it on stderr, after `program`, and returns kExitOther (kExitResources if memory ran out).
int endInWords(std::string_view program, const std::function<int()>& body);

}  // namespace millrace

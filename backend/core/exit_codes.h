#pragma once
// How a worker ends (millrace-loader, millrace-trainer, millrace-exec): the codes, what they mean,
// and which error gives which. The daemon's verdict reads them; docs/reference/exit-codes.md. One
// code of an agent is here too, since `millrace up` reads it.
#include <functional>
#include <string_view>

#include "backend/core/status.h"

namespace millrace {

inline constexpr int kExitDone = 0;
inline constexpr int kExitUsage = 2;      ///< the command line was not understood
inline constexpr int kExitStopped = 3;    ///< told to end, with a checkpoint where there is one
inline constexpr int kExitInput = 4;      ///< spec, data, checkpoint: the same again ends the same;
                                          ///< a memory limit below the plan's need, too
inline constexpr int kExitOther = 5;      ///< everything else: another try may succeed
inline constexpr int kExitResources = 6;  ///< memory, disk, a limit on the way: not the input's
inline constexpr int kExitServed = 7;     ///< an agent's: another one serves its state directory
inline constexpr int kExitShim = 125;     ///< millrace-exec's own trouble; 126, 127: the command's
inline constexpr int kExitSignal = 128;   ///< + n: signal n ended the process

int workerExitOf(const Status& status);

/// "input or data error", ...: for people; "" for a code that is not one of these.
std::string_view meaningOf(int code);

/// A worker's outermost call: what `body` returns. An exception that escapes it becomes a sentence
/// on stderr with `program` in front, and kExitOther (kExitResources when memory ran out).
int endInWords(std::string_view program, const std::function<int()>& body);

}  // namespace millrace

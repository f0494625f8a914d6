#pragma once
// Speaking to a guardian that may have been started by another daemon, and cleaning up after one
// that was killed.
//
// Every call is bounded in time: a guardian that does not answer within a second is kUnavailable.
#include <string>

#include "backend/core/json.h"
#include "backend/engines/gang_files.h"

namespace millrace::engines {

/// True while the very process that wrote the record lives (a reused pid does not count).
bool isGuardianAlive(const GuardianRecord& guardian);

/// Sends one control request (see millrace-exec) and returns its answer.
Result<Json> askGuardian(const GuardianRecord& guardian, const Json& request);

/// SIGKILL to every process that carries the worker's MR_DIRECTORY in its environment: what a
/// killed guardian could not end itself. Returns how many there were. The directory, as another
/// daemon on the machine may have a gang of the same key.
int killLeftovers(std::string_view directory);

/// A TCP port that was free on the loopback address a moment ago.
Result<int> freePort();

}  // namespace millrace::engines

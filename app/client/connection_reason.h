#pragma once
// Turns gRPC's message about a failed connection to a daemon into a short reason that a person can
// act on.
//
// Pure. Failure: none; unknown messages are returned unchanged.
#include <string>

namespace millrace::client {

/// `hasTls`: this client presented a certificate.
std::string reasonOf(const std::string& message, bool hasTls);

}  // namespace millrace::client

#pragma once
// Why a connection to a daemon failed, of gRPC's own words for it: shortened to what a person can
// act on.
//
// Pure. Failure: none; words that are not known are returned as they are.
#include <string>

namespace millrace::client {

/// `hasTls`: this client came with a certificate.
std::string reasonOf(const std::string& message, bool hasTls);

}  // namespace millrace::client

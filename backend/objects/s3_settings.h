#pragma once
// Address and timeouts of a store, from the usual sources of S3 tools: AWS_ENDPOINT_URL_S3,
// AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION, AWS_PROFILE, AWS_MAX_ATTEMPTS, AWS_CA_BUNDLE,
// AWS_RESPONSE_CHECKSUM_VALIDATION, ~/.aws/config. One variable is Millrace's own:
// MILLRACE_OBJECTS_STALL_SECONDS limits how long a read may stall. Threads: pure functions of the
// environment.
#include <chrono>
#include <string>

#include "backend/core/status.h"

namespace millrace::objects {

struct S3Settings {
    std::string scheme = "https";
    std::string endpoint;      ///< host[:port]; empty: Amazon's in the region
    std::string region;        ///< empty: the SDK's choice
    std::string certificates;  ///< file with trusted certificates; empty: the library's
    int attempts = 8;          ///< per request, including the first
    /// An answer that stays below kLeastRate for this long is aborted.
    std::chrono::milliseconds stall{30'000};
    bool wantsChecksums = true;  ///< requests the checksum that the store keeps of an object
};

inline constexpr const char* kStallVariable = "MILLRACE_OBJECTS_STALL_SECONDS";

/// kInvalidArgument if kStallVariable is not a number of seconds.
Result<S3Settings> s3SettingsFromEnvironment();

inline constexpr std::chrono::milliseconds kConnectTime{5000};
inline constexpr std::int64_t kLeastRate = 1024;  ///< bytes per second

/// The pause after the n-th failure (0: the first): doubles, up to a limit.
std::chrono::milliseconds backOff(std::int64_t failures);

}  // namespace millrace::objects

#pragma once
// Where a store is and how patiently it is asked, as every S3 tool finds it: AWS_ENDPOINT_URL_S3,
// AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION, AWS_PROFILE, AWS_MAX_ATTEMPTS, AWS_CA_BUNDLE,
// AWS_RESPONSE_CHECKSUM_VALIDATION, ~/.aws/config; and, of our own, how long a read may stand
// still: MILLRACE_OBJECTS_STALL_SECONDS. Threads: pure functions of the environment.
#include <chrono>
#include <string>

#include "backend/core/status.h"

namespace millrace::objects {

struct S3Settings {
    std::string scheme = "https";
    std::string endpoint;      ///< host[:port]; empty: Amazon's of the region
    std::string region;        ///< empty: what the SDK finds
    std::string certificates;  ///< a file of trusted ones; empty: the library's
    int attempts = 8;          ///< of one request, the first among them
    /// An answer that brings less than kLeastRate for so long is given up.
    std::chrono::milliseconds stall{30'000};
    bool wantsChecksums = true;  ///< asks for the checksum that the store keeps of an object
};

inline constexpr const char* kStallVariable = "MILLRACE_OBJECTS_STALL_SECONDS";

/// kInvalidArgument for a kStallVariable that is no number of seconds.
Result<S3Settings> s3SettingsFromEnvironment();

inline constexpr std::chrono::milliseconds kConnectTime{5000};
inline constexpr std::int64_t kLeastRate = 1024;  ///< bytes a second

/// The pause after the n-th failure (0: the first): it doubles, up to a limit.
std::chrono::milliseconds backOff(std::int64_t failures);

}  // namespace millrace::objects

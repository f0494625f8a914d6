#pragma once
// Where a store is and how patiently it is asked, as every S3 tool finds it: AWS_ENDPOINT_URL_S3,
// AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION, AWS_PROFILE, AWS_MAX_ATTEMPTS, AWS_CA_BUNDLE,
// ~/.aws/config. Threads: pure functions of the environment.
#include <chrono>
#include <string>

namespace millrace::objects {

struct S3Settings {
    std::string scheme = "https";
    std::string endpoint;      ///< host[:port]; empty: Amazon's of the region
    std::string region;        ///< empty: what the SDK finds
    std::string certificates;  ///< a file of trusted ones; empty: the library's
    int attempts = 8;          ///< of one request, the first among them
};

S3Settings s3SettingsFromEnvironment();

inline constexpr std::chrono::milliseconds kConnectTime{5000};
inline constexpr std::chrono::milliseconds kSilenceTime{10'000};  ///< no byte comes for so long

/// The pause after the n-th failure (0: the first): it doubles, up to a limit.
std::chrono::milliseconds backOff(std::int64_t failures);

}  // namespace millrace::objects

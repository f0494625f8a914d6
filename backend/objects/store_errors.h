#pragma once
// Errors for an object in a store: one sentence that names the object and what to do.
// Threads: a value. `reason`: the message of the server or the library.
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace::objects {

inline constexpr const char* kOwnCredentials =
    "the credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE, ~/.aws/credentials)";

struct StoreErrors {
    std::string server;                         ///< host and port, or "Amazon S3"
    int attempts = 0;                           ///< per request
    std::string credentials = kOwnCredentials;  ///< their source: what the user should check

    Status noSuchBucket(std::string_view uri) const;
    Status noSuchObject(std::string_view uri) const;
    Status denied(std::string_view uri, std::string_view reason) const;
    Status doesNotAnswer(std::string_view uri, std::string_view reason) const;
    Status failed(std::string_view uri, std::string_view reason) const;
    /// kFailedPrecondition. `now`: the object's current ETag; empty: unknown.
    Status changed(std::string_view uri, std::string_view before, std::string_view now) const;
    /// kDataLoss: every attempt returned bytes with another checksum.
    Status damaged(std::string_view uri, std::string_view algorithm, std::string_view kept) const;
};

}  // namespace millrace::objects

#pragma once
// What can go wrong with an object of a store, as one sentence that names it and says what to do.
// Threads: a value. `reason`: what the server or the library said.
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace::objects {

inline constexpr const char* kOwnCredentials =
    "the credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE, ~/.aws/credentials)";

struct StoreErrors {
    std::string server;                         ///< host and port, or "Amazon S3"
    int attempts = 0;                           ///< of a request
    std::string credentials = kOwnCredentials;  ///< where they come from: what to check

    Status noSuchBucket(std::string_view uri) const;
    Status noSuchObject(std::string_view uri) const;
    Status denied(std::string_view uri, std::string_view reason) const;
    Status doesNotAnswer(std::string_view uri, std::string_view reason) const;
    Status failed(std::string_view uri, std::string_view reason) const;
    /// kFailedPrecondition. `now`: the ETag that it has by now; empty: not told.
    Status changed(std::string_view uri, std::string_view before, std::string_view now) const;
    /// kDataLoss: after all tries, each of which brought bytes of another checksum.
    Status damaged(std::string_view uri, std::string_view algorithm, std::string_view kept) const;
};

}  // namespace millrace::objects

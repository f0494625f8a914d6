#pragma once
// The credentials of a reader for a store of objects, and their source.
//
// Credentials are never logged, passed as an argument or written to a file.
// Threads: values; a source's calls come from any.
#include <optional>
#include <stop_token>
#include <string>

namespace millrace::objects {

struct Credentials {
    std::string accessKey;  ///< empty: anonymous, nothing is signed
    std::string secretKey;
    std::string sessionToken;  ///< empty: the key is permanent
    bool operator==(const Credentials&) const = default;
    bool isEmpty() const { return accessKey.empty(); }
};

class CredentialsSource {
 public:
    virtual ~CredentialsSource() = default;
    /// Credentials for the next request; called before each request, as they may be renewed.
    virtual Credentials current() = 0;
    /// Call it when the store rejected `refused`: returns other credentials, or nothing if there
    /// are none. May wait for them, until `stop` is requested.
    virtual std::optional<Credentials> after(const Credentials& refused,
                                             const std::stop_token& stop) = 0;
};

/// How to reach a store; one process hands it to another.
struct StoreAccess {
    std::string scheme, endpoint, region;  ///< as in S3Settings; the region is known
    bool wantsChecksums = true;
    Credentials credentials;
    bool operator==(const StoreAccess&) const = default;
};

}  // namespace millrace::objects

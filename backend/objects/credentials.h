#pragma once
// Who a reader says it is to a store of objects, and where that comes from.
//
// Nothing here is ever logged, put into an argument or written to a file.
// Threads: values; a source's calls come from any.
#include <optional>
#include <stop_token>
#include <string>

namespace millrace::objects {

struct Credentials {
    std::string accessKey;  ///< empty: anonymous, nothing is signed
    std::string secretKey;
    std::string sessionToken;  ///< empty: the key is a lasting one
    bool operator==(const Credentials&) const = default;
    bool isEmpty() const { return accessKey.empty(); }
};

class CredentialsSource {
 public:
    virtual ~CredentialsSource() = default;
    /// Those for the next request; asked for before each, as they may be renewed.
    virtual Credentials current() = 0;
    /// The store refused `refused`: others, or nothing when there are none. May wait for them,
    /// until `stop` says otherwise.
    virtual std::optional<Credentials> after(const Credentials& refused,
                                             const std::stop_token& stop) = 0;
};

/// What a store is reached with: one process hands it to another.
struct StoreAccess {
    std::string scheme, endpoint, region;  ///< as S3Settings; the region is known
    bool wantsChecksums = true;
    Credentials credentials;
    bool operator==(const StoreAccess&) const = default;
};

}  // namespace millrace::objects

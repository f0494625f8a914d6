#pragma once
// Objects of an S3 store, named "s3://BUCKET/KEY": listed through Arrow's S3 filesystem, read by
// our range client, both with the settings (s3_settings.h) and the usual chain of credentials
// (chain_credentials.h), or with those that another process hands to this one
// (handed_credentials.h); without any objects are read anonymously. Requests that fail for a while
// are tried again with back-off.
//
// Threads: any. Owns: Arrow's process-wide S3 state, from the first use to the process's end.
// Failure: one sentence that names the object: kNotFound, kPermissionDenied, kUnavailable (does not
// answer, or not well, after all tries).
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/objects/credentials.h"

namespace millrace::objects {

class HandedCredentials;
class S3Files;
class RangeClient;
struct S3Settings;
struct StoreErrors;

inline constexpr std::string_view kObjectScheme = "s3://";

/// Whether `path` names an object, or objects, of a store ("s3://...").
bool isObjectUri(std::string_view path);

struct ObjectInfo {
    std::string uri;
    std::int64_t bytes = 0;
    std::int64_t mtimeNs = 0;  ///< a store tells it by the second
};

/// A stretch of an object, of one version of it where the store tells versions apart.
struct ObjectRange {
    std::int64_t offset = 0, bytes = 0;
    std::string etag;  ///< of the version; empty: whichever is there
};

struct ObjectBytes {
    std::int64_t count = 0;
    std::string etag;  ///< of the version that was read; empty: the store has none
};

class ObjectStore {
 public:
    /// The store that the environment describes; made at first use.
    static Result<std::shared_ptr<const ObjectStore>> open();
    /// Before the first open(), which gives this one from then on: the store that `access` names,
    /// read with the credentials that are handed, and with the environment's own where those are
    /// empty. Patience, tries and trusted certificates are the environment's.
    static Result<std::shared_ptr<HandedCredentials>> openHanded(const StoreAccess& access);
    ~ObjectStore();

    /// What it is reached with now; asks the source of credentials.
    StoreAccess access() const;
    /// The same after the store refused the credentials with this key elsewhere: renewed, where
    /// that can be had.
    StoreAccess accessAfter(const std::string& refusedKey) const;

    /// All objects below "s3://BUCKET/PREFIX/" (or the one of exactly this name); sorted by name.
    Result<std::vector<ObjectInfo>> list(const std::string& uri) const;

    /// Size and time of one object.
    Result<ObjectInfo> stat(const std::string& uri) const;

    /// Up to `range.bytes` bytes of the object into `out`: fewer when it ends before. A whole
    /// object is compared with the checksum that the store sends. kFailedPrecondition when it is of
    /// another version by now; kDataLoss for another checksum; kCancelled soon after `stop` says
    /// so.
    Result<ObjectBytes> read(const std::string& uri, const ObjectRange& range, void* out,
                             const std::stop_token& stop = {}) const;

 private:
    ObjectStore();
    static Result<std::shared_ptr<const ObjectStore>> make(
        S3Settings settings, const StoreErrors& errors,
        std::shared_ptr<CredentialsSource> credentials);

    StoreAccess place_;  ///< without credentials
    std::shared_ptr<CredentialsSource> credentials_;
    std::unique_ptr<S3Files> files_;
    std::unique_ptr<RangeClient> ranges_;
};

}  // namespace millrace::objects

#pragma once
// Objects of an S3 store, named "s3://BUCKET/KEY". Arrow's S3 filesystem lists them, and our range
// client reads them.
//
// Both use the settings of s3_settings.h. Credentials come from the usual chain
// (chain_credentials.h) or from another process (handed_credentials.h); without any, objects are
// read anonymously. Transient failures are retried with back-off.
// Threads: any. Owns: Arrow's process-wide S3 state, from the first use to the process's end.
// Failure: one sentence that names the object: kNotFound, kPermissionDenied, kUnavailable (no
// answer, or no valid one, after all attempts).
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

/// Whether `path` names an object, or objects, in a store ("s3://...").
bool isObjectUri(std::string_view path);

struct ObjectInfo {
    std::string uri;
    std::int64_t bytes = 0;
    std::int64_t mtimeNs = 0;  ///< with a resolution of a second
};

/// A range of an object, in a given version if the store has versions.
struct ObjectRange {
    std::int64_t offset = 0, bytes = 0;
    std::string etag;  ///< of the version; empty: any version
};

struct ObjectBytes {
    std::int64_t count = 0;
    std::string etag;  ///< of the version that was read; empty: the store has none
};

class ObjectStore {
 public:
    /// The store from the environment; created at first use.
    static Result<std::shared_ptr<const ObjectStore>> open();
    /// Call it before the first open(), which returns this store from then on: the store in
    /// `access`, read with the handed credentials, or with the environment's own while those are
    /// empty. Timeouts, attempts and trusted certificates come from the environment.
    static Result<std::shared_ptr<HandedCredentials>> openHanded(const StoreAccess& access);
    ~ObjectStore();

    /// How to reach it now; gets current credentials from their source.
    StoreAccess access() const;
    /// Like access(), after the store rejected the credentials with this key elsewhere: renews them
    /// if possible.
    StoreAccess accessAfter(const std::string& refusedKey) const;

    /// All objects below "s3://BUCKET/PREFIX/" (or the object with exactly this name); sorted by
    /// name.
    Result<std::vector<ObjectInfo>> list(const std::string& uri) const;

    /// Size and time of one object.
    Result<ObjectInfo> stat(const std::string& uri) const;

    /// Reads up to `range.bytes` bytes of the object into `out`: fewer if it ends earlier. A whole
    /// object is compared with the checksum that the store sends. kFailedPrecondition if the object
    /// has another version now; kDataLoss for a wrong checksum; kCancelled soon after `stop` is
    /// requested.
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

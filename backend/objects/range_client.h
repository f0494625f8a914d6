#pragma once
// Reads ranges of objects directly into the caller's memory, over persistent connections.
//
// It replaces Arrow's S3 filesystem (which still lists the objects): that one passes a body through
// streams of 16 KB, which costs the decoding core 0.17 s per 330 MB (docs/decisions/0006). libcurl
// does HTTP, TLS and the connections. Requests that fail transiently, or stall, are retried with
// back-off from the last byte received. All ranges of one read have the same version of the object,
// by its ETag. A request with rejected credentials is repeated once if their source has others.
//
// Threads: any; the calling thread makes the request. The program must ignore SIGPIPE: TLS writes
// to connections that the server has closed. Owns: idle connections, at most kIdleMost.
// Failure: one sentence that names the object (store_errors.h).
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/objects/credentials.h"
#include "backend/objects/object_store.h"
#include "backend/objects/s3_settings.h"
#include "backend/objects/store_errors.h"

namespace millrace::objects {

struct RangeAnswer;

class RangeClient {
 public:
    static constexpr std::size_t kIdleMost = 32;
    /// Clock for detecting stalled answers.
    using Now = std::function<std::chrono::steady_clock::time_point()>;

    /// `settings` must have a region. Starts libcurl, which stays until the process ends.
    RangeClient(S3Settings settings, StoreErrors errors,
                std::shared_ptr<CredentialsSource> credentials,
                Now now = &std::chrono::steady_clock::now);
    ~RangeClient();

    struct Object {
        std::string bucket, key;
    };
    /// Like ObjectStore::read(), for more than 0 bytes. kCancelled is returned within about a
    /// second.
    Result<ObjectBytes> read(const Object& object, const ObjectRange& range, void* out,
                             const std::stop_token& stop = {}) const;

 private:
    class Connection;
    class Lease;
    struct Place;  ///< URL and host of an object

    Place placeOf(const Object& object) const;
    RangeAnswer get(Connection& connection, const Place& place, const ObjectRange& range, char* out,
                    const std::stop_token& stop) const;
    RangeAnswer getAs(const Credentials& credentials, Connection& connection, const Place& place,
                      const ObjectRange& range, char* out, const std::stop_token& stop) const;
    Status statusOf(const RangeAnswer& answer, const std::string& uri) const;

    const S3Settings settings_;
    const StoreErrors errors_;
    const std::shared_ptr<CredentialsSource> credentials_;
    const Now now_;
    mutable Mutex mutex_;
    mutable std::vector<std::unique_ptr<Connection>> idle_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::objects

#pragma once
// Reads ranges of objects straight into the caller's memory, over connections that are kept.
//
// Why not Arrow's S3 filesystem, which lists the objects: it hands a body through streams of 16 KB,
// which costs the core that decodes 0.17 s a 330 MB (docs/decisions/0006). HTTP, TLS and the
// connections are libcurl's; requests that fail for a while, or stand still, are tried again with
// back-off, from the byte that they had come to. All ranges of one read are of one version of the
// object, by its ETag. A request whose credentials are refused is made once more when their source
// has others.
//
// Threads: any; a request is made by the thread that asks. The program ignores SIGPIPE: TLS writes
// to a connection that the server has ended. Owns: idle connections, kIdleMost at most. Failure:
// one sentence that names the object (store_errors.h).
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
    /// By which answers that stand still are told.
    using Now = std::function<std::chrono::steady_clock::time_point()>;

    /// `settings` has a region. Starts libcurl, which lasts as long as the process.
    RangeClient(S3Settings settings, StoreErrors errors,
                std::shared_ptr<CredentialsSource> credentials,
                Now now = &std::chrono::steady_clock::now);
    ~RangeClient();
    RangeClient(const RangeClient&) = delete;
    RangeClient& operator=(const RangeClient&) = delete;

    struct Object {
        std::string bucket, key;
    };
    /// As ObjectStore::read(), of more than 0 bytes. kCancelled comes within about a second.
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

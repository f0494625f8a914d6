#pragma once
// Names, sizes and times of a store's objects, through Arrow's S3 filesystem.
//
// Arrow's filesystem keeps the credentials that it was made with: a new one is made when the
// source's credentials change. A request that is rejected for its credentials is repeated once if
// the source has others. Threads: any. Owns: nothing shared, but it starts Arrow's S3 state.
// Failure: one sentence that names the object (store_errors.h).
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/objects/credentials.h"
#include "backend/objects/object_store.h"
#include "backend/objects/s3_settings.h"
#include "backend/objects/store_errors.h"

namespace arrow {
template <class T>
class Result;
class Status;
namespace fs {
class S3FileSystem;
}  // namespace fs
}  // namespace arrow

namespace millrace::objects {

class S3Files {
 public:
    /// Starts Arrow's S3 on first use.
    static Result<std::unique_ptr<S3Files>> open(const S3Settings& settings, StoreErrors errors,
                                                 std::shared_ptr<CredentialsSource> credentials);
    ~S3Files();

    Result<std::vector<ObjectInfo>> list(const std::string& uri) const;
    Result<ObjectInfo> stat(const std::string& uri) const;

    /// The region that requests are signed for.
    std::string region() const;

 private:
    using Files = std::shared_ptr<arrow::fs::S3FileSystem>;
    S3Files(const S3Settings& settings, StoreErrors errors,
            std::shared_ptr<CredentialsSource> credentials);
    Result<Files> filesFor(const Credentials& credentials) const;
    /// Sends `question` to the store, and again if it rejects the credentials and there are others.
    template <class T>
    Result<T> ask(const std::string& uri,
                  const std::function<arrow::Result<T>(arrow::fs::S3FileSystem&)>& question) const;
    Status explain(const arrow::Status& error, std::string_view uri) const;

    const S3Settings settings_;
    const StoreErrors errors_;
    const std::shared_ptr<CredentialsSource> credentials_;
    mutable Mutex mutex_;
    mutable Credentials usedLast_ MR_GUARDED_BY(mutex_);
    mutable Files files_ MR_GUARDED_BY(mutex_);  ///< made with usedLast_
};

}  // namespace millrace::objects

#pragma once
// Names, sizes and times of the objects of a store, through Arrow's S3 filesystem.
//
// Threads: any. Owns: Arrow's process-wide S3 state is started by startS3(), once. Failure: one
// sentence that names the object (store_errors.h).
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/objects/object_store.h"
#include "backend/objects/s3_settings.h"
#include "backend/objects/s3_signature.h"
#include "backend/objects/store_errors.h"

namespace arrow {
class Status;
namespace fs {
class S3FileSystem;
struct S3Options;
}  // namespace fs
}  // namespace arrow

namespace millrace::objects {

class S3Files {
 public:
    /// Starts Arrow's S3 on first use.
    static Result<std::unique_ptr<S3Files>> open(const S3Settings& settings, StoreErrors errors);
    ~S3Files();

    Result<std::vector<ObjectInfo>> list(const std::string& uri) const;
    Result<ObjectInfo> stat(const std::string& uri) const;

    /// The region that requests are signed for.
    std::string region() const;
    /// As the usual chain of providers has them now; empty without any.
    Credentials credentials() const;

 private:
    explicit S3Files(StoreErrors errors);
    Status explain(const arrow::Status& error, std::string_view uri) const;

    const StoreErrors errors_;
    std::unique_ptr<const arrow::fs::S3Options> options_;
    std::shared_ptr<arrow::fs::S3FileSystem> files_;
};

}  // namespace millrace::objects

#pragma once
// Objects of an S3 store, named "s3://BUCKET/KEY", through Arrow's S3 filesystem.
//
// Found as every S3 tool finds it: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION, AWS_PROFILE,
// AWS_MAX_ATTEMPTS, AWS_CA_BUNDLE, ~/.aws, and the usual chain of credentials; without any of these
// objects are read anonymously. Requests that fail for a while are tried again with back-off.
// Threads: any. Owns: Arrow's process-wide S3 state, from the first use to the process's end.
// Failure: one sentence that names the object: kNotFound, kPermissionDenied, kUnavailable (does not
// answer, or not well, after all tries), kDataLoss.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/file_list.h"

namespace arrow {
class Status;
namespace fs {
class FileSystem;
}
namespace io {
class RandomAccessFile;
}
}  // namespace arrow

namespace millrace::dataset {

/// Whether `path` names an object, or objects, of a store ("s3://...").
bool isObjectUri(std::string_view path);

class ObjectStore {
 public:
    /// The store that the environment describes; made at first use.
    static Result<std::shared_ptr<const ObjectStore>> open();

    /// All objects below "s3://BUCKET/PREFIX/" (or the one of exactly this name), with their sizes;
    /// sorted by name, `relativePath` empty.
    Result<std::vector<DataFile>> list(const std::string& uri) const;

    /// Size and time of one object.
    Result<DataFile> stat(const std::string& uri) const;

    /// For reading by position, by any thread. Makes no request when `bytes` is not negative.
    Result<std::shared_ptr<arrow::io::RandomAccessFile>> openObject(const std::string& uri,
                                                                    std::int64_t bytes) const;

    /// Arrow's error about an object as one of our sentences.
    Status explain(const arrow::Status& error, std::string_view uri) const;

 private:
    ObjectStore() = default;
    std::shared_ptr<arrow::fs::FileSystem> files_;
    std::string server_;  ///< for messages
    int attempts_ = 0;
};

}  // namespace millrace::dataset

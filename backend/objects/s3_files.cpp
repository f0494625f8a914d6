#include "backend/objects/s3_files.h"

#include <algorithm>
#include <chrono>

#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/s3fs.h>

#include "backend/objects/arrow_s3.h"

namespace millrace::objects {
namespace {

/// Errors that the SDK calls final (no such key, denied) are not retried.
class BackOff final : public arrow::fs::S3RetryStrategy {
 public:
    explicit BackOff(int attempts) : attempts_(attempts) {}
    bool ShouldRetry(const AWSErrorDetail& error, std::int64_t retries) override {
        return error.should_retry && retries + 1 < attempts_;
    }
    std::int64_t CalculateDelayBeforeNextRetry(const AWSErrorDetail&,
                                               std::int64_t retries) override {
        return backOff(retries).count();
    }

 private:
    const int attempts_;
};

arrow::fs::S3Options optionsOf(const S3Settings& settings, const Credentials& credentials) {
    arrow::fs::S3Options options =
        credentials.isEmpty()
            ? arrow::fs::S3Options::Anonymous()
            : arrow::fs::S3Options::FromAccessKey(credentials.accessKey, credentials.secretKey,
                                                  credentials.sessionToken);
    options.scheme = settings.scheme;
    options.endpoint_override = settings.endpoint;
    options.region = settings.region;
    options.connect_timeout = std::chrono::duration<double>(kConnectTime).count();
    options.request_timeout = std::chrono::duration<double>(settings.stall).count();
    options.tls_ca_file_path = settings.certificates;
    options.retry_strategy = std::make_shared<BackOff>(settings.attempts);
    return options;
}

/// "bucket/key" from "s3://bucket/key".
std::string pathOf(std::string_view uri) {
    return std::string(uri.substr(kObjectScheme.size()));
}

ObjectInfo infoOf(const arrow::fs::FileInfo& info) {
    return {strCat(kObjectScheme, info.path()), info.size(),
            std::chrono::duration_cast<std::chrono::nanoseconds>(info.mtime().time_since_epoch())
                .count()};
}

/// The reason at the end of the SDK's text, without the surrounding words.
std::string_view reasonOf(std::string_view text) {
    const std::size_t at = text.rfind(" operation: ");
    std::string_view reason = at == std::string_view::npos ? text : text.substr(at + 12);
    const std::size_t curl = reason.find("curlCode: ");
    if (curl != std::string_view::npos) {
        const std::size_t comma = reason.find(", ", curl);
        reason = comma == std::string_view::npos ? reason : reason.substr(comma + 2);
    }
    return reason.substr(0, reason.find('\n'));
}

/// Whether the store does not accept the credentials.
bool isRefusal(const arrow::Status& error) {
    const std::string& text = error.message();
    for (const char* word :
         {"ACCESS_DENIED", "HTTP status 403", "HTTP status 401", "INVALID_ACCESS_KEY_ID",
          "SIGNATURE_DOES_NOT_MATCH", "ExpiredToken", "InvalidToken", "TokenRefreshRequired"}) {
        if (text.find(word) != std::string::npos) {
            return true;
        }
    }
    return false;
}

/// A HEAD has no error text with its status: an expired token gives 400.
bool mayBeRefusal(const arrow::Status& error) {
    return isRefusal(error) || error.message().find("HTTP status 400") != std::string::npos;
}

}  // namespace

Result<std::unique_ptr<S3Files>> S3Files::open(const S3Settings& settings, StoreErrors errors,
                                               std::shared_ptr<CredentialsSource> credentials) {
    RETURN_IF_ERROR(startArrowS3());
    std::unique_ptr<S3Files> made(new S3Files(settings, std::move(errors), std::move(credentials)));
    const auto files = made->filesFor(made->credentials_->current());
    // Arrow's S3 must end before the library's own statics are destroyed; the last of them is
    // created with the filesystem.
    std::atexit([] { (void)arrow::fs::EnsureS3Finalized().ok(); });
    RETURN_IF_ERROR(files.status());
    return made;
}

S3Files::S3Files(const S3Settings& settings, StoreErrors errors,
                 std::shared_ptr<CredentialsSource> credentials)
    : settings_(settings), errors_(std::move(errors)), credentials_(std::move(credentials)) {}

S3Files::~S3Files() = default;

std::string S3Files::region() const {
    MutexLock lock(mutex_);
    return files_->region();
}

Result<S3Files::Files> S3Files::filesFor(const Credentials& credentials) const {
    {
        MutexLock lock(mutex_);
        if (files_ != nullptr && usedLast_ == credentials) {
            return files_;
        }
    }
    auto made = arrow::fs::S3FileSystem::Make(optionsOf(settings_, credentials));
    RETURN_IF_ERROR(fromArrowS3(made.status()));
    MutexLock lock(mutex_);
    files_ = *made;
    usedLast_ = credentials;
    return *std::move(made);
}

template <class T>
Result<T> S3Files::ask(
    const std::string& uri,
    const std::function<arrow::Result<T>(arrow::fs::S3FileSystem&)>& question) const {
    const Credentials credentials = credentials_->current();
    ASSIGN_OR_RETURN(const Files files, filesFor(credentials));
    arrow::Result<T> answer = question(*files);
    if (!answer.ok() && mayBeRefusal(answer.status())) {
        if (const auto others = credentials_->after(credentials, {})) {
            ASSIGN_OR_RETURN(const Files renewed, filesFor(*others));
            answer = question(*renewed);
        }
    }
    RETURN_IF_ERROR(explain(answer.status(), uri));
    return *std::move(answer);
}

Status S3Files::explain(const arrow::Status& error, std::string_view uri) const {
    if (error.ok()) {
        return okStatus();
    }
    const std::string& text = error.message();
    const auto says = [&text](std::string_view word) {
        return text.find(word) != std::string::npos;
    };
    const std::string_view reason = reasonOf(text);
    if (says("NO_SUCH_BUCKET")) {
        return errors_.noSuchBucket(uri);
    }
    if (says("NO_SUCH_KEY") || says("RESOURCE_NOT_FOUND") || says("HTTP status 404") ||
        says("Path does not exist")) {
        return errors_.noSuchObject(uri);
    }
    if (isRefusal(error)) {
        return errors_.denied(uri, reason);
    }
    if (says("NETWORK_CONNECTION") || says("curlCode") || says("REQUEST_TIMEOUT")) {
        return errors_.doesNotAnswer(uri, reason);
    }
    return errors_.failed(uri, reason);
}

Result<ObjectInfo> S3Files::stat(const std::string& uri) const {
    ASSIGN_OR_RETURN(const auto info, ask<arrow::fs::FileInfo>(uri, [&uri](auto& files) {
                         return files.GetFileInfo(pathOf(uri));
                     }));
    if (info.type() == arrow::fs::FileType::File) {
        return infoOf(info);
    }
    return info.type() == arrow::fs::FileType::NotFound
               ? errors_.noSuchObject(uri)
               : invalidArgument(uri, ": not an object but a prefix of several");
}

Result<std::vector<ObjectInfo>> S3Files::list(const std::string& uri) const {
    arrow::fs::FileSelector selector;
    selector.base_dir = pathOf(uri);
    while (selector.base_dir.ends_with('/')) {
        selector.base_dir.pop_back();
    }
    selector.recursive = true;
    selector.allow_not_found = true;
    ASSIGN_OR_RETURN(const auto found, ask<arrow::fs::FileInfoVector>(uri, [&](auto& files) {
                         return files.GetFileInfo(selector);
                     }));
    std::vector<ObjectInfo> files;
    for (const arrow::fs::FileInfo& info : found) {
        if (info.type() == arrow::fs::FileType::File) {
            files.push_back(infoOf(info));
        }
    }
    if (files.empty()) {
        const std::string bucket = selector.base_dir.substr(0, selector.base_dir.find('/'));
        ASSIGN_OR_RETURN(const auto info, ask<arrow::fs::FileInfo>(uri, [&](auto& files) {
                             return files.GetFileInfo(bucket);
                         }));
        if (info.type() == arrow::fs::FileType::NotFound) {
            return errors_.noSuchBucket(uri);
        }
    }
    std::ranges::sort(files,
                      [](const ObjectInfo& a, const ObjectInfo& b) { return a.uri < b.uri; });
    return files;
}

}  // namespace millrace::objects

#include "backend/objects/s3_files.h"

#include <algorithm>
#include <chrono>

#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/s3fs.h>

namespace millrace::objects {
namespace {

/// What the SDK calls final (no such key, denied) is final.
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

arrow::fs::S3Options optionsOf(const S3Settings& settings) {
    arrow::fs::S3Options options = arrow::fs::S3Options::Defaults();
    options.scheme = settings.scheme;
    options.endpoint_override = settings.endpoint;
    options.region = settings.region;
    options.connect_timeout = std::chrono::duration<double>(kConnectTime).count();
    options.request_timeout = std::chrono::duration<double>(settings.stall).count();
    options.tls_ca_file_path = settings.certificates;
    options.retry_strategy = std::make_shared<BackOff>(settings.attempts);
    if (options.GetAccessKey().empty()) {
        options.ConfigureAnonymousCredentials();
    }
    return options;
}

Status fromS3(const arrow::Status& status) {
    return status.ok() ? okStatus() : internalError("s3: ", status.message());
}

Status startS3() {
    auto global = arrow::fs::S3GlobalOptions::Defaults();
    global.log_level = arrow::fs::S3LogLevel::Off;
    return fromS3(arrow::fs::InitializeS3(global));
}

/// "bucket/key" of "s3://bucket/key".
std::string pathOf(std::string_view uri) {
    return std::string(uri.substr(kObjectScheme.size()));
}

ObjectInfo infoOf(const arrow::fs::FileInfo& info) {
    return {strCat(kObjectScheme, info.path()), info.size(),
            std::chrono::duration_cast<std::chrono::nanoseconds>(info.mtime().time_since_epoch())
                .count()};
}

/// What the SDK says at the end of its text, without our words around it.
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

}  // namespace

Result<std::unique_ptr<S3Files>> S3Files::open(const S3Settings& settings, StoreErrors errors) {
    RETURN_IF_ERROR(startS3());
    std::unique_ptr<S3Files> made(new S3Files(std::move(errors)));
    made->options_ = std::make_unique<const arrow::fs::S3Options>(optionsOf(settings));
    auto files = arrow::fs::S3FileSystem::Make(*made->options_);
    // Arrow wants its S3 ended before its library's own statics go, of which the last is made with
    // the filesystem.
    std::atexit([] { (void)arrow::fs::EnsureS3Finalized().ok(); });
    RETURN_IF_ERROR(fromS3(files.status()));
    made->files_ = *std::move(files);
    return made;
}

S3Files::S3Files(StoreErrors errors) : errors_(std::move(errors)) {}

S3Files::~S3Files() = default;

std::string S3Files::region() const {
    return files_->region();
}

Credentials S3Files::credentials() const {
    for (;;) {
        Credentials now{options_->GetAccessKey(), options_->GetSecretKey(),
                        options_->GetSessionToken()};
        // Not half of those before they were renewed and half of those after.
        if (options_->GetAccessKey() == now.accessKey) {
            return now;
        }
    }
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
    if (says("ACCESS_DENIED") || says("HTTP status 403") || says("INVALID_ACCESS_KEY_ID") ||
        says("SIGNATURE_DOES_NOT_MATCH")) {
        return errors_.denied(uri, reason);
    }
    if (says("NETWORK_CONNECTION") || says("curlCode") || says("REQUEST_TIMEOUT")) {
        return errors_.doesNotAnswer(uri, reason);
    }
    return errors_.failed(uri, reason);
}

Result<ObjectInfo> S3Files::stat(const std::string& uri) const {
    const auto info = files_->GetFileInfo(pathOf(uri));
    if (!info.ok()) {
        return explain(info.status(), uri);
    }
    if (info->type() == arrow::fs::FileType::File) {
        return infoOf(*info);
    }
    return info->type() == arrow::fs::FileType::NotFound
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
    const auto found = files_->GetFileInfo(selector);
    if (!found.ok()) {
        return explain(found.status(), uri);
    }
    std::vector<ObjectInfo> files;
    for (const arrow::fs::FileInfo& info : *found) {
        if (info.type() == arrow::fs::FileType::File) {
            files.push_back(infoOf(info));
        }
    }
    if (files.empty()) {
        const std::string bucket = selector.base_dir.substr(0, selector.base_dir.find('/'));
        const auto info = files_->GetFileInfo(bucket);
        if (!info.ok() || info->type() == arrow::fs::FileType::NotFound) {
            return info.ok() ? errors_.noSuchBucket(uri) : explain(info.status(), uri);
        }
    }
    std::sort(files.begin(), files.end(),
              [](const ObjectInfo& a, const ObjectInfo& b) { return a.uri < b.uri; });
    return files;
}

}  // namespace millrace::objects

#include "backend/dataset/object_store.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/s3fs.h>
#include <arrow/io/interfaces.h>

#include "backend/core/files.h"
#include "backend/core/mutex.h"
#include "backend/dataset/arrow_bridge.h"

namespace millrace::dataset {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr int kAttempts = 8;
constexpr std::int64_t kFirstDelayMs = 200, kLongestDelayMs = 5000;
constexpr double kConnectSeconds = 5, kSilenceSeconds = 10;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::string_view trim(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
    return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

/// The first that is set.
std::string environment(std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (std::string value = environment(name); !value.empty()) {
            return value;
        }
    }
    return "";
}

/// The keys of the chosen profile in ~/.aws/config; empty when there is no such file.
std::map<std::string, std::string> profileKeys() {
    std::string path = environment("AWS_CONFIG_FILE");
    path = path.empty() ? environment("HOME") + "/.aws/config" : path;
    std::string profile = environment({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
    const std::string section =
        profile.empty() || profile == "default" ? "[default]" : strCat("[profile ", profile, "]");
    std::map<std::string, std::string> keys;
    const Result<std::string> text = readFile(path);
    bool isHere = false;
    for (std::string_view rest = text.ok() ? std::string_view(*text) : ""; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = trim(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const std::size_t equals = line.find('=');
        if (line.starts_with("[")) {
            isHere = line == section;
        } else if (isHere && equals != std::string_view::npos) {
            keys.emplace(trim(line.substr(0, equals)), trim(line.substr(equals + 1)));
        }
    }
    return keys;
}

int attemptsFromEnvironment() {
    const int given = std::atoi(environment("AWS_MAX_ATTEMPTS").c_str());
    return given > 0 ? std::min(given, 100) : kAttempts;
}

/// Doubles the pause up to a limit. What the SDK calls final (no such key, denied) is final.
class BackOff final : public arrow::fs::S3RetryStrategy {
 public:
    explicit BackOff(int attempts) : attempts_(attempts) {}
    bool ShouldRetry(const AWSErrorDetail& error, std::int64_t retries) override {
        return error.should_retry && retries + 1 < attempts_;
    }
    std::int64_t CalculateDelayBeforeNextRetry(const AWSErrorDetail&,
                                               std::int64_t retries) override {
        return std::min(kLongestDelayMs, kFirstDelayMs << std::min<std::int64_t>(retries, 10));
    }

 private:
    const int attempts_;
};

/// The certificates to trust: the wheel's own library does not know where this system keeps them.
std::string certificates() {
    std::string given = environment({"AWS_CA_BUNDLE", "SSL_CERT_FILE"});
    if (!given.empty()) {
        return given;
    }
    for (const char* path :
         {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"}) {
        if (std::filesystem::exists(path)) {
            return path;
        }
    }
    return "";
}

arrow::fs::S3Options optionsFromEnvironment(int attempts) {
    const std::map<std::string, std::string> profile = profileKeys();
    const auto orProfile = [&profile](std::string value, const char* key) {
        const auto it = profile.find(key);
        return !value.empty() || it == profile.end() ? value : it->second;
    };
    arrow::fs::S3Options options = arrow::fs::S3Options::Defaults();
    options.region = orProfile(environment({"AWS_REGION", "AWS_DEFAULT_REGION"}), "region");
    std::string endpoint =
        orProfile(environment({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}), "endpoint_url");
    if (!endpoint.empty()) {
        const std::size_t scheme = endpoint.find("://");
        if (scheme != std::string::npos) {
            options.scheme = endpoint.substr(0, scheme);
            endpoint = endpoint.substr(scheme + 3);
        }
        while (endpoint.ends_with('/')) {
            endpoint.pop_back();
        }
        options.endpoint_override = endpoint;
        options.region = options.region.empty() ? "us-east-1" : options.region;
    }
    options.connect_timeout = kConnectSeconds;
    options.request_timeout = kSilenceSeconds;
    options.tls_ca_file_path = certificates();
    options.retry_strategy = std::make_shared<BackOff>(attempts);
    if (options.GetAccessKey().empty()) {
        options.ConfigureAnonymousCredentials();
    }
    return options;
}

Status startS3() {
    auto global = arrow::fs::S3GlobalOptions::Defaults();
    global.log_level = arrow::fs::S3LogLevel::Off;
    return fromArrow(arrow::fs::InitializeS3(global), "s3");
}

/// "bucket/key" of "s3://bucket/key".
std::string pathOf(std::string_view uri) {
    return std::string(uri.substr(kScheme.size()));
}

DataFile fileOf(const arrow::fs::FileInfo& info) {
    DataFile file;
    file.path = strCat(kScheme, info.path());
    file.bytes = info.size();
    file.mtimeNs =
        std::chrono::duration_cast<std::chrono::nanoseconds>(info.mtime().time_since_epoch())
            .count();
    return file;
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

bool isObjectUri(std::string_view path) {
    return path.starts_with(kScheme);
}

Result<std::shared_ptr<const ObjectStore>> ObjectStore::open() {
    static Mutex mutex;
    static std::shared_ptr<const ObjectStore> shared;  // as process-wide as Arrow's S3 is
    MutexLock lock(mutex);
    if (shared == nullptr) {
        RETURN_IF_ERROR(startS3());
        std::shared_ptr<ObjectStore> store(new ObjectStore);
        store->attempts_ = attemptsFromEnvironment();
        const arrow::fs::S3Options options = optionsFromEnvironment(store->attempts_);
        store->server_ =
            options.endpoint_override.empty() ? "Amazon S3" : options.endpoint_override;
        const auto files = arrow::fs::S3FileSystem::Make(options);
        // Arrow wants its S3 ended before its library's own statics go, of which the last is made
        // with the filesystem. Handlers run in the reverse of their order: first the store goes.
        std::atexit([] { (void)arrow::fs::EnsureS3Finalized().ok(); });
        std::atexit([] { shared.reset(); });
        ASSIGN_OR_RETURN(store->files_, fromArrow(files, "s3"));
        shared = std::move(store);
    }
    return shared;
}

Status ObjectStore::explain(const arrow::Status& error, std::string_view uri) const {
    if (error.ok()) {
        return okStatus();
    }
    if (error.IsOutOfMemory()) {
        return fromArrow(error, uri);
    }
    const std::string& text = error.message();
    const auto says = [&text](std::string_view word) {
        return text.find(word) != std::string::npos;
    };
    const std::string_view reason = reasonOf(text);
    if (says("NO_SUCH_BUCKET")) {
        return notFound(uri, ": no such bucket at ", server_);
    }
    if (says("NO_SUCH_KEY") || says("RESOURCE_NOT_FOUND") || says("HTTP status 404") ||
        says("Path does not exist")) {
        return notFound(uri, ": no such object at ", server_);
    }
    if (says("ACCESS_DENIED") || says("HTTP status 403") || says("INVALID_ACCESS_KEY_ID") ||
        says("SIGNATURE_DOES_NOT_MATCH")) {
        return permissionDenied(uri, ": ", server_, " denies access (", reason,
                                "); check the credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE, "
                                "~/.aws/credentials) and the bucket's policy");
    }
    if (says("NETWORK_CONNECTION") || says("curlCode") || says("REQUEST_TIMEOUT")) {
        return unavailable(uri, ": the S3 server ", server_, " does not answer (", reason, "), ",
                           attempts_,
                           " tries; check the network and AWS_ENDPOINT_URL; a run goes "
                           "on from its last checkpoint when it is started again");
    }
    return unavailable(uri, ": the S3 server ", server_, " failed (", reason, "), ", attempts_,
                       " tries; a run goes on from its last checkpoint when it is started again");
}

Result<DataFile> ObjectStore::stat(const std::string& uri) const {
    const auto info = files_->GetFileInfo(pathOf(uri));
    if (!info.ok()) {
        return explain(info.status(), uri);
    }
    if (info->type() == arrow::fs::FileType::File) {
        return fileOf(*info);
    }
    return info->type() == arrow::fs::FileType::NotFound
               ? notFound(uri, ": no such object at ", server_)
               : invalidArgument(uri, ": not an object but a prefix of several");
}

Result<std::vector<DataFile>> ObjectStore::list(const std::string& uri) const {
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
    std::vector<DataFile> files;
    for (const arrow::fs::FileInfo& info : *found) {
        if (info.type() == arrow::fs::FileType::File) {
            files.push_back(fileOf(info));
        }
    }
    if (files.empty()) {
        const std::string bucket = selector.base_dir.substr(0, selector.base_dir.find('/'));
        const auto info = files_->GetFileInfo(bucket);
        if (!info.ok() || info->type() == arrow::fs::FileType::NotFound) {
            return info.ok() ? notFound(uri, ": no such bucket at ", server_)
                             : explain(info.status(), uri);
        }
    }
    std::sort(files.begin(), files.end(),
              [](const DataFile& a, const DataFile& b) { return a.path < b.path; });
    return files;
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> ObjectStore::openObject(
    const std::string& uri, std::int64_t bytes) const {
    arrow::fs::FileInfo info(pathOf(uri), arrow::fs::FileType::File);
    info.set_size(bytes);
    auto file = bytes < 0 ? files_->OpenInputFile(pathOf(uri)) : files_->OpenInputFile(info);
    if (!file.ok()) {
        return explain(file.status(), uri);
    }
    return *std::move(file);
}

}  // namespace millrace::dataset

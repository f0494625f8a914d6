#include "backend/objects/object_store.h"

#include <cstdlib>

#include "backend/core/mutex.h"
#include "backend/objects/chain_credentials.h"
#include "backend/objects/handed_credentials.h"
#include "backend/objects/range_client.h"
#include "backend/objects/s3_files.h"

namespace millrace::objects {

namespace {

constexpr const char* kHanded = "the credentials of the feed that this data worker reads for";
constexpr const char* kOwnOrHanded =
    "the credentials: the feed has none to hand over, so those of this data worker's own "
    "environment count (AWS_ACCESS_KEY_ID, AWS_PROFILE, ~/.aws/credentials)";

/// Process-wide, like Arrow's S3 state.
struct Shared {
    Mutex mutex;
    std::shared_ptr<const ObjectStore> store MR_GUARDED_BY(mutex);

    void keepLocked(std::shared_ptr<const ObjectStore> made) MR_REQUIRES(mutex);
};

Shared& theShared() {
    static Shared shared;
    return shared;
}

// Exit handlers run in reverse order: this one runs before the handler that ends Arrow's S3.
void Shared::keepLocked(std::shared_ptr<const ObjectStore> made) {
    std::atexit([] {
        Shared& shared = theShared();
        MutexLock lock(shared.mutex);
        shared.store.reset();
    });
    store = std::move(made);
}

std::string serverOf(const S3Settings& settings) {
    return settings.endpoint.empty() ? "Amazon S3" : settings.endpoint;
}

}  // namespace

bool isObjectUri(std::string_view path) {
    return path.starts_with(kObjectScheme);
}

ObjectStore::ObjectStore() = default;
ObjectStore::~ObjectStore() = default;

Result<std::shared_ptr<const ObjectStore>> ObjectStore::make(
    S3Settings settings, const StoreErrors& errors,
    std::shared_ptr<CredentialsSource> credentials) {
    std::shared_ptr<ObjectStore> store(new ObjectStore);
    ASSIGN_OR_RETURN(store->files_, S3Files::open(settings, errors, credentials));
    settings.region = store->files_->region();
    store->place_ = {
        settings.scheme, settings.endpoint, settings.region, settings.wantsChecksums, {}};
    store->ranges_ = std::make_unique<RangeClient>(std::move(settings), errors, credentials);
    store->credentials_ = std::move(credentials);
    return store;
}

Result<std::shared_ptr<const ObjectStore>> ObjectStore::open() {
    Shared& shared = theShared();
    MutexLock lock(shared.mutex);
    if (shared.store == nullptr) {
        ASSIGN_OR_RETURN(S3Settings settings, s3SettingsFromEnvironment());
        const StoreErrors errors{serverOf(settings), settings.attempts};
        ASSIGN_OR_RETURN(auto store,
                         make(std::move(settings), errors, std::make_shared<ChainCredentials>()));
        shared.keepLocked(std::move(store));
    }
    return shared.store;
}

Result<std::shared_ptr<HandedCredentials>> ObjectStore::openHanded(const StoreAccess& access) {
    Shared& shared = theShared();
    MutexLock lock(shared.mutex);
    if (shared.store != nullptr) {
        return failedPrecondition("s3: this process reads a store of its own already");
    }
    ASSIGN_OR_RETURN(S3Settings settings, s3SettingsFromEnvironment());
    settings.scheme = access.scheme;
    settings.endpoint = access.endpoint;
    settings.region = access.region;
    settings.wantsChecksums = access.wantsChecksums;
    const StoreErrors errors{serverOf(settings), settings.attempts,
                             access.credentials.isEmpty() ? kOwnOrHanded : kHanded};
    const auto handed = std::make_shared<HandedCredentials>(std::make_shared<ChainCredentials>());
    handed->hand(access.credentials);
    ASSIGN_OR_RETURN(auto store, make(std::move(settings), errors, handed));
    shared.keepLocked(std::move(store));
    return handed;
}

StoreAccess ObjectStore::access() const {
    StoreAccess access = place_;
    access.credentials = credentials_->current();
    return access;
}

StoreAccess ObjectStore::accessAfter(const std::string& refusedKey) const {
    StoreAccess access = this->access();
    if (access.credentials.accessKey == refusedKey) {
        access.credentials =
            credentials_->after(access.credentials, {}).value_or(access.credentials);
    }
    return access;
}

Result<std::vector<ObjectInfo>> ObjectStore::list(const std::string& uri) const {
    return files_->list(uri);
}

Result<ObjectInfo> ObjectStore::stat(const std::string& uri) const {
    return files_->stat(uri);
}

Result<ObjectBytes> ObjectStore::read(const std::string& uri, const ObjectRange& range, void* out,
                                      const std::stop_token& stop) const {
    const std::size_t slash = uri.find('/', kObjectScheme.size());
    if (slash == std::string::npos) {
        return invalidArgument(uri, ": name the object: s3://BUCKET/KEY");
    }
    if (range.bytes <= 0) {
        return ObjectBytes{0, range.etag};
    }
    return ranges_->read(
        {uri.substr(kObjectScheme.size(), slash - kObjectScheme.size()), uri.substr(slash + 1)},
        range, out, stop);
}

}  // namespace millrace::objects

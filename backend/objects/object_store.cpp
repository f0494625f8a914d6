#include "backend/objects/object_store.h"

#include <cstdlib>

#include "backend/core/mutex.h"
#include "backend/objects/range_client.h"
#include "backend/objects/s3_files.h"

namespace millrace::objects {

bool isObjectUri(std::string_view path) {
    return path.starts_with(kObjectScheme);
}

ObjectStore::ObjectStore() = default;
ObjectStore::~ObjectStore() = default;

Result<std::shared_ptr<const ObjectStore>> ObjectStore::open() {
    static Mutex mutex;
    static std::shared_ptr<const ObjectStore> shared;  // as process-wide as Arrow's S3 is
    MutexLock lock(mutex);
    if (shared == nullptr) {
        ASSIGN_OR_RETURN(S3Settings settings, s3SettingsFromEnvironment());
        const StoreErrors errors{settings.endpoint.empty() ? "Amazon S3" : settings.endpoint,
                                 settings.attempts};
        std::shared_ptr<ObjectStore> store(new ObjectStore);
        ASSIGN_OR_RETURN(store->files_, S3Files::open(settings, errors));
        settings.region = store->files_->region();
        store->ranges_ = std::make_unique<RangeClient>(
            settings, errors, [files = store->files_.get()] { return files->credentials(); });
        // Handlers run in the reverse of their order: before that which ends Arrow's S3.
        std::atexit([] { shared.reset(); });
        shared = std::move(store);
    }
    return shared;
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

#include "daemon/worker/data/store_watch.h"

#include <algorithm>
#include <utility>

#include "backend/core/thread.h"
#include "backend/objects/object_store.h"

namespace millrace::data {

bool readsObjects(const stream::Plan& plan) {
    const auto isObject = [](const auto& file) { return objects::isObjectUri(file.path); };
    return std::any_of(plan.files.begin(), plan.files.end(), isObject) ||
           std::any_of(plan.evalFiles.begin(), plan.evalFiles.end(), isObject) ||
           std::any_of(plan.sideTables.begin(), plan.sideTables.end(), isObject);
}

StoreWatch::StoreWatch(Look look, OnLooked onLooked, std::chrono::milliseconds lookTime)
    : look_(std::move(look)),
      onLooked_(std::move(onLooked)),
      lookTime_(lookTime),
      access_(look_("")) {
    thread_ = startThread("data-store", [this](const std::stop_token& stop) { run(stop); });
}

StoreWatch::~StoreWatch() {
    thread_.request_stop();
    thread_.join();
}

objects::StoreAccess StoreWatch::access() const {
    MutexLock lock(mutex_);
    return access_;
}

void StoreWatch::refused(const std::string& accessKey) {
    MutexLock lock(mutex_);
    refusedKey_ = accessKey;
    changed_.notifyAll();
}

void StoreWatch::run(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
        MutexLock lock(mutex_);
        changed_.notifyAll();
    });
    for (;;) {
        std::string refusedKey;
        {
            MutexLock lock(mutex_);
            if (refusedKey_.empty() && !stop.stop_requested()) {
                changed_.waitFor(mutex_, lookTime_);
            }
            refusedKey.swap(refusedKey_);
        }
        if (stop.stop_requested()) {
            return;
        }
        objects::StoreAccess access = look_(refusedKey);
        bool isNew = false;
        {
            MutexLock lock(mutex_);
            isNew = access.credentials != access_.credentials;
            access_ = std::move(access);
        }
        if (isNew || !refusedKey.empty()) {
            onLooked_(isNew);
        }
    }
}

}  // namespace millrace::data

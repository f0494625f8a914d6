#pragma once
// StoreWatch: checks the credentials of a feed's object store regularly, so that data workers get
// renewed ones before they need them. Used by Lead.
//
// Threads: any; one of its own ("data-store") asks the source of the credentials, which may take a
// while, and calls `onLooked`, without a lock. Owns: that thread.
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "backend/core/mutex.h"
#include "backend/objects/credentials.h"
#include "backend/stream/plan.h"

namespace millrace::data {

/// Whether the stream reads any object of a store.
bool readsObjects(const stream::Plan& plan);

class StoreWatch {
 public:
    static constexpr std::chrono::milliseconds kLookTime{10'000};
    /// Returns the current credentials. `refusedKey`: an access key that the store refused; if the
    /// credentials still have it, gets new ones; "": none.
    using Look = std::function<objects::StoreAccess(const std::string& refusedKey)>;
    /// `isNew`: they have changed; else the call answers refused().
    using OnLooked = std::function<void(bool isNew)>;

    StoreWatch(Look look, OnLooked onLooked, std::chrono::milliseconds lookTime = kLookTime);
    ~StoreWatch();

    /// The newest that are known.
    objects::StoreAccess access() const;
    /// The store refused this access key to a worker: checks at once.
    void refused(const std::string& accessKey);

 private:
    void run(const std::stop_token& stop);

    const Look look_;
    const OnLooked onLooked_;
    const std::chrono::milliseconds lookTime_;
    mutable Mutex mutex_;
    CondVar changed_;
    objects::StoreAccess access_ MR_GUARDED_BY(mutex_);
    std::string refusedKey_ MR_GUARDED_BY(mutex_);  ///< "": none since the last look
    std::jthread thread_;
};

}  // namespace millrace::data

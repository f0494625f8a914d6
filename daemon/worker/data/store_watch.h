#pragma once
// StoreWatch: what a feed reads its store of objects with, looked at again and again, so that data
// workers are handed what is renewed before they need it.
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

/// Whether something that the stream reads is an object of a store.
bool readsObjects(const stream::Plan& plan);

class StoreWatch {
 public:
    static constexpr std::chrono::milliseconds kLookTime{10'000};
    /// What the store is reached with now; `refusedKey`: anew if it is with this access key, which
    /// the store refused; "": none.
    using Look = std::function<objects::StoreAccess(const std::string& refusedKey)>;
    /// `isNew`: it is not what it was; else it answers refused().
    using OnLooked = std::function<void(bool isNew)>;

    StoreWatch(Look look, OnLooked onLooked, std::chrono::milliseconds lookTime = kLookTime);
    ~StoreWatch();

    /// The newest that is known.
    objects::StoreAccess access() const;
    /// The store refused this access key to a worker: looks at once.
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

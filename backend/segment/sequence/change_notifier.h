#pragma once
// Notifies one callback of changes. The callback can be set and removed at any time.
//
// Threads: any; set() must not be called from inside the callback.
#include <functional>
#include <memory>
#include <utility>

#include "backend/core/mutex.h"

namespace millrace::segment {

class ChangeNotifier {
 public:
    /// Null removes the callback. Returns when no call of the previous callback is running.
    void set(std::function<void()> tell) {
        std::shared_ptr<const std::function<void()>> next;
        if (tell) {
            next = std::make_shared<const std::function<void()>>(std::move(tell));
        }
        MutexLock lock(mutex_);
        tell_ = std::move(next);
        while (numCalls_ > 0) {
            ended_.wait(mutex_);
        }
    }

    /// Do not call under a lock.
    void tell() {
        std::shared_ptr<const std::function<void()>> tell;
        {
            MutexLock lock(mutex_);
            if (!tell_) {
                return;
            }
            tell = tell_;
            ++numCalls_;
        }
        (*tell)();
        MutexLock lock(mutex_);
        --numCalls_;
        ended_.notifyAll();
    }

 private:
    Mutex mutex_;
    CondVar ended_;
    std::shared_ptr<const std::function<void()>> tell_ MR_GUARDED_BY(mutex_);
    int numCalls_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::segment

#pragma once
// A stream of a daemon that follows a test's script. Threads: its own, joined.
#include <utility>
#include <vector>

#include "app/client/daemon_client.h"
#include "backend/core/mutex.h"
#include "backend/core/thread.h"

namespace millrace::client {

/// Delivers items, then ends (or waits for a cancel if the script has no end).
template <class T>
class ScriptedStream final : public Subscription {
 public:
    struct Script {
        std::vector<T> items;
        bool staysOpen = false;
        Status end = okStatus();
    };
    ScriptedStream(Script script, StreamHandler<T> handler)
        : thread_(startThread("mr-fake", [this, script = std::move(script),
                                          handler = std::move(handler)](std::stop_token) {
              for (const T& item : script.items) {
                  handler.onItem(item);
              }
              if (script.staysOpen) {
                  waitForCancel();
              }
              handler.onEnd(script.staysOpen ? cancelled("cancelled") : script.end);
          })) {}
    ~ScriptedStream() override { cancel(); }
    void cancel() override {
        MutexLock lock(mutex_);
        isCancelled_ = true;
        changed_.notifyAll();
    }

 private:
    void waitForCancel() {
        MutexLock lock(mutex_);
        while (!isCancelled_) {
            changed_.wait(mutex_);
        }
    }
    Mutex mutex_;
    CondVar changed_;
    bool isCancelled_ MR_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace millrace::client

#pragma once
// Streams of the fake daemon: each has a thread that delivers what tests push.
//
// Threads: any. finish() joins the thread: no handler is called after it.
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "app/client/daemon_client.h"
#include "backend/core/mutex.h"
#include "backend/core/thread.h"

namespace millrace::client {

/// A thread that delivers pushed items in order until its end.
class FakeStream {
 public:
    explicit FakeStream(std::function<void(const Status&)> onEnd)
        : onEnd_(std::move(onEnd)),
          thread_(startThread("mr-fake", [this](std::stop_token) { run(); })) {}
    ~FakeStream() { finish(); }
    /// No handler is called after it.
    void finish() {
        end(millrace::cancelled("cancelled"));
        if (thread_.joinable()) {
            thread_.join();
        }
    }

    void push(std::function<void()> item) {
        MutexLock lock(mutex_);
        if (!ended_) {
            items_.push_back(std::move(item));
            changed_.notifyAll();
        }
    }
    std::size_t size() const {
        MutexLock lock(mutex_);
        return items_.size();
    }
    /// Ends the stream after the pushed items; a broken connection or a cancel drops waiting items.
    void end(const Status& status, bool isAfterItems = false) {
        MutexLock lock(mutex_);
        if (!ended_) {
            ended_ = status;
            if (!isAfterItems) {
                items_.clear();
            }
            changed_.notifyAll();
        }
    }

 private:
    void run() {
        while (true) {
            std::function<void()> item;
            Status status;
            {
                MutexLock lock(mutex_);
                while (items_.empty() && !ended_) {
                    changed_.wait(mutex_);
                }
                if (!items_.empty()) {
                    item = std::move(items_.front());
                    items_.pop_front();
                } else {
                    status = *ended_;
                }
            }
            if (item == nullptr) {
                onEnd_(status);
                return;
            }
            item();
        }
    }

    const std::function<void(const Status&)> onEnd_;
    mutable Mutex mutex_;
    CondVar changed_;
    std::deque<std::function<void()>> items_ MR_GUARDED_BY(mutex_);
    std::optional<Status> ended_ MR_GUARDED_BY(mutex_);
    std::jthread thread_;
};

// A stream with its handler's calls.
template <class T>
class FakeFeed final : public FakeStream {
 public:
    explicit FakeFeed(StreamHandler<T> handler)
        : FakeStream(std::move(handler.onEnd)),
          onItem_(std::make_shared<std::function<void(T)>>(std::move(handler.onItem))) {}
    void add(T item) {
        push([onItem = onItem_, item = std::move(item)] { (*onItem)(item); });
    }

 private:
    const std::shared_ptr<std::function<void(T)>> onItem_;
};

}  // namespace millrace::client

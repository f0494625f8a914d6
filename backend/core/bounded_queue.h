#pragma once
// A bounded first-in first-out queue between threads.
//
// Threads: any number of producers and consumers. push() blocks while full, pop() while empty.
// close() ends both: pushes are rejected; pops drain the queue and then return nothing.
#include <deque>
#include <optional>
#include <utility>

#include "backend/core/mutex.h"
#include "backend/core/status.h"

namespace millrace {

template <class T>
class BoundedQueue {
 public:
    explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {
        INVARIANT(capacity > 0, "a queue needs room for one element");
    }

    /// Returns false if the queue is closed; `value` is dropped then.
    bool push(T value) {
        MutexLock lock(mutex_);
        while (!closed_ && items_.size() >= capacity_) {
            notFull_.wait(mutex_);
        }
        return pushLocked(std::move(value));
    }

    /// Returns false if full or closed.
    bool tryPush(T value) {
        MutexLock lock(mutex_);
        if (items_.size() >= capacity_) {
            return false;
        }
        return pushLocked(std::move(value));
    }

    /// Returns nothing once closed and drained.
    std::optional<T> pop() {
        MutexLock lock(mutex_);
        while (!closed_ && items_.empty()) {
            notEmpty_.wait(mutex_);
        }
        return popLocked();
    }

    /// Returns nothing on a timeout, or once closed and drained.
    std::optional<T> popFor(std::chrono::milliseconds timeout) {
        MutexLock lock(mutex_);
        const auto end = std::chrono::steady_clock::now() + timeout;
        while (!closed_ && items_.empty()) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now());
            if (left.count() <= 0) {
                break;
            }
            notEmpty_.waitFor(mutex_, left);
        }
        return popLocked();
    }

    void close() {
        MutexLock lock(mutex_);
        closed_ = true;
        notFull_.notifyAll();
        notEmpty_.notifyAll();
    }

    bool isClosed() const {
        MutexLock lock(mutex_);
        return closed_;
    }

    std::size_t size() const {
        MutexLock lock(mutex_);
        return items_.size();
    }

 private:
    bool pushLocked(T value) MR_REQUIRES(mutex_) {
        if (closed_) {
            return false;
        }
        items_.push_back(std::move(value));
        notEmpty_.notifyOne();
        return true;
    }
    std::optional<T> popLocked() MR_REQUIRES(mutex_) {
        if (items_.empty()) {
            return std::nullopt;
        }
        std::optional<T> value(std::move(items_.front()));
        items_.pop_front();
        notFull_.notifyOne();
        return value;
    }

    const std::size_t capacity_;
    mutable Mutex mutex_;
    CondVar notFull_, notEmpty_;
    std::deque<T> items_ MR_GUARDED_BY(mutex_);
    bool closed_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace

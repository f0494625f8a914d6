#pragma once
// Parallel producers, one consumer, in order: several threads make items, and the caller takes them
// in order of their index.
//
// Threads: starts its own, named, and joins them before it returns; the caller's thread takes. With
// one thread the caller also makes. Failure: that of the first item, by index, that cannot be made
// or taken; no more are begun after it. Memory: at most `ahead` items made or being made.
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/core/thread.h"

namespace millrace {

/// Calls `Result<T> make(i)` for each i < count, on `threads` threads, and `Status take(T)` with
/// each result, in the order of i. ahead >= 1.
template <class T, class Make, class Take>
class InOrder {
 public:
    InOrder(std::size_t count, std::size_t ahead, const Make& make, const Take& take)
        : count_(count), ahead_(ahead), make_(make), take_(take), made_(count) {}

    Status run(int threads, const std::string& name) {
        if (threads <= 1 || count_ <= 1) {
            for (std::size_t i = 0; i < count_; ++i) {
                ASSIGN_OR_RETURN(T one, make_(i));
                RETURN_IF_ERROR(take_(std::move(one)));
            }
            return okStatus();
        }
        std::vector<std::jthread> makers;
        for (int i = 0; i < threads && static_cast<std::size_t>(i) < count_; ++i) {
            makers.push_back(startThread(name, [this](std::stop_token) { work(); }));
        }
        const Status status = takeAll();
        MutexLock lock(mutex_);
        next_ = count_;
        changed_.notifyAll();
        return status;
    }

 private:
    Status takeAll() {
        for (std::size_t i = 0; i < count_; ++i) {
            std::optional<Result<T>> one;
            {
                MutexLock lock(mutex_);
                while (!made_[i]) {
                    changed_.wait(mutex_);
                }
                one = std::exchange(made_[i], std::nullopt);
                ++taken_;
                changed_.notifyAll();
            }
            RETURN_IF_ERROR(one->status());
            RETURN_IF_ERROR(take_(*std::move(*one)));
        }
        return okStatus();
    }

    void work() {
        for (;;) {
            std::size_t i = 0;
            {
                MutexLock lock(mutex_);
                while (next_ < count_ && next_ >= taken_ + ahead_) {
                    changed_.wait(mutex_);
                }
                if (next_ >= count_) {
                    return;
                }
                i = next_++;
            }
            Result<T> one = make_(i);
            MutexLock lock(mutex_);
            made_[i] = std::move(one);
            changed_.notifyAll();
        }
    }

    const std::size_t count_, ahead_;
    const Make& make_;
    const Take& take_;
    Mutex mutex_;
    CondVar changed_;
    std::size_t next_ MR_GUARDED_BY(mutex_) = 0, taken_ MR_GUARDED_BY(mutex_) = 0;
    std::vector<std::optional<Result<T>>> made_ MR_GUARDED_BY(mutex_);
};

/// Runs InOrder; T: the type of an item.
template <class T, class Make, class Take>
Status makeInOrder(std::size_t count, int threads, std::size_t ahead, const std::string& name,
                   const Make& make, const Take& take) {
    return InOrder<T, Make, Take>(count, ahead, make, take).run(threads, name);
}

}  // namespace millrace

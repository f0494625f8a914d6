#pragma once
// Mutex, CondVar and the lock annotations that clang's -Wthread-safety checks (preset `locks`).
//
// Every guarded field says MR_GUARDED_BY(mutex_); fooLocked() says MR_REQUIRES(mutex_).
#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define MILLRACE_TSA(x) __attribute__((x))
#else
#define MILLRACE_TSA(x)
#endif

#define MR_GUARDED_BY(x) MILLRACE_TSA(guarded_by(x))
#define MR_REQUIRES(...) MILLRACE_TSA(requires_capability(__VA_ARGS__))
#define MR_EXCLUDES(...) MILLRACE_TSA(locks_excluded(__VA_ARGS__))

namespace millrace {

class MILLRACE_TSA(capability("mutex")) Mutex {
 public:
    Mutex() = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;
    void lock() MILLRACE_TSA(acquire_capability()) { mutex_.lock(); }
    void unlock() MILLRACE_TSA(release_capability()) { mutex_.unlock(); }

 private:
    friend class CondVar;
    std::mutex mutex_;
};

class MILLRACE_TSA(scoped_lockable) MutexLock {
 public:
    explicit MutexLock(Mutex& mutex) MILLRACE_TSA(acquire_capability(mutex)) : mutex_(mutex) {
        mutex_.lock();
    }
    ~MutexLock() MILLRACE_TSA(release_capability()) { mutex_.unlock(); }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

 private:
    Mutex& mutex_;
};

/// A condition variable on a Mutex. wait() may wake without reason: loop on the condition.
class CondVar {
 public:
    void wait(Mutex& mutex) MR_REQUIRES(mutex) {
        std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
        condition_.wait(lock);
        lock.release();
    }
    /// False when the time is up.
    bool waitFor(Mutex& mutex, std::chrono::milliseconds timeout) MR_REQUIRES(mutex) {
        std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
        const bool inTime = condition_.wait_for(lock, timeout) == std::cv_status::no_timeout;
        lock.release();
        return inTime;
    }
    void notifyOne() { condition_.notify_one(); }
    void notifyAll() { condition_.notify_all(); }

 private:
    std::condition_variable condition_;
};

}  // namespace millrace

#pragma once
// Mutex, CondVar and the lock annotations that clang's -Wthread-safety checks (preset `locks`).
//
// Every guarded field has MR_GUARDED_BY(mutex_); fooLocked() has MR_REQUIRES(mutex_).
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>

#include <pthread.h>

#if defined(__clang__)
#define MILLRACE_TSA(x) __attribute__((x))
#else
#define MILLRACE_TSA(x)
#endif

#define MR_GUARDED_BY(x) MILLRACE_TSA(guarded_by(x))
#define MR_REQUIRES(...) MILLRACE_TSA(requires_capability(__VA_ARGS__))
#define MR_EXCLUDES(...) MILLRACE_TSA(locks_excluded(__VA_ARGS__))

namespace millrace {

/// A contended lock() spins for some hundred nanoseconds (if the C library can) before it sleeps:
/// most locks here are held for less time than falling asleep takes.
class MILLRACE_TSA(capability("mutex")) Mutex {
 public:
    Mutex() = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;
    ~Mutex() { ::pthread_mutex_destroy(&mutex_); }
    void lock() MILLRACE_TSA(acquire_capability()) { ::pthread_mutex_lock(&mutex_); }
    void unlock() MILLRACE_TSA(release_capability()) { ::pthread_mutex_unlock(&mutex_); }

 private:
    friend class CondVar;
#if defined(PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP)
    pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
#else
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
#endif
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

/// A condition variable on a Mutex. wait() may wake spuriously: loop on the condition. Uses pthread
/// directly: std::condition_variable calls functions that are newer than the oldest supported C++
/// runtime (GLIBCXX_3.4.29).
class CondVar {
 public:
    CondVar() = default;
    CondVar(const CondVar&) = delete;
    CondVar& operator=(const CondVar&) = delete;
    ~CondVar() { ::pthread_cond_destroy(&condition_); }

    void wait(Mutex& mutex) MR_REQUIRES(mutex) { ::pthread_cond_wait(&condition_, &mutex.mutex_); }
    /// Returns false on a timeout.
    bool waitFor(Mutex& mutex, std::chrono::milliseconds timeout) MR_REQUIRES(mutex) {
        constexpr std::int64_t kNsPerMs = 1'000'000, kNsPerSecond = 1'000'000'000;
        constexpr std::int64_t kLongestMs = 1'000'000'000'000;  // 30 years: never
        timespec until{};
        ::clock_gettime(CLOCK_MONOTONIC, &until);
        const std::int64_t ms = std::clamp<std::int64_t>(timeout.count(), 0, kLongestMs);
        const std::int64_t ns = until.tv_nsec + ms % 1000 * kNsPerMs;
        until.tv_sec += ms / 1000 + ns / kNsPerSecond;
        until.tv_nsec = ns % kNsPerSecond;
        return ::pthread_cond_clockwait(&condition_, &mutex.mutex_, CLOCK_MONOTONIC, &until) !=
               ETIMEDOUT;
    }
    void notifyOne() { ::pthread_cond_signal(&condition_); }
    void notifyAll() { ::pthread_cond_broadcast(&condition_); }

 private:
    pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

}  // namespace millrace

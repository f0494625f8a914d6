#pragma once
// RequestPool: a few threads that run the bridge's requests in order of arrival.
//
// Threads: any. Bounded: add() refuses a request when kWaitingMax wait. Requests that may take long
// (the daemon reads a dataset, a run writes its checkpoint) leave two threads for the others; at
// most two of one lane (a context's slot) run at a time. Owns: its threads, joined by stop().
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "backend/core/mutex.h"

namespace millrace::gui {

class RequestPool {
 public:
    static constexpr std::size_t kWaitingMax = 512;
    static constexpr int kThreads = 6, kSlowMax = 4, kLaneMax = 2;

    using Answer = std::shared_ptr<void>;
    struct Request {
        std::uint64_t id = 0;
        std::uint64_t lane = 0;  ///< 0: none
        bool isSlow = false;
        std::function<Answer()> work;
    };
    /// `answered` is called on the pool's threads.
    explicit RequestPool(std::function<void(std::uint64_t id, Answer)> answered);
    ~RequestPool();

    bool add(Request request);
    /// Removes the request if it has not started.
    void drop(std::uint64_t id);
    /// Waits for running requests; make them end first.
    void stop();

 private:
    void run();
    bool takeLocked(Request& request) MR_REQUIRES(mutex_);

    const std::function<void(std::uint64_t, Answer)> answered_;
    Mutex mutex_;
    CondVar changed_;
    std::deque<Request> waiting_ MR_GUARDED_BY(mutex_);
    std::map<std::uint64_t, int> inLane_ MR_GUARDED_BY(mutex_);
    int numSlow_ MR_GUARDED_BY(mutex_) = 0;
    bool isStopping_ MR_GUARDED_BY(mutex_) = false;
    std::vector<std::jthread> threads_;
};

}  // namespace millrace::gui

#include "app/gui/bridge/request_pool.h"

#include <algorithm>
#include <utility>

#include "backend/core/thread.h"

namespace millrace::gui {

RequestPool::RequestPool(std::function<void(std::uint64_t, Answer)> answered)
    : answered_(std::move(answered)) {
    for (int i = 0; i < kThreads; ++i) {
        threads_.push_back(startThread("mr-request", [this](std::stop_token) { run(); }));
    }
}

RequestPool::~RequestPool() {
    stop();
}

void RequestPool::stop() {
    {
        MutexLock lock(mutex_);
        isStopping_ = true;
        waiting_.clear();
        changed_.notifyAll();
    }
    threads_.clear();
}

bool RequestPool::add(Request request) {
    MutexLock lock(mutex_);
    if (isStopping_ || waiting_.size() >= kWaitingMax) {
        return false;
    }
    waiting_.push_back(std::move(request));
    changed_.notifyOne();
    return true;
}

void RequestPool::drop(std::uint64_t id) {
    MutexLock lock(mutex_);
    std::erase_if(waiting_, [id](const Request& request) { return request.id == id; });
}

// Takes the first request that may run now.
bool RequestPool::takeLocked(Request& request) {
    const auto mayRun = [this](const Request& r) MR_REQUIRES(mutex_) {
        const auto lane = inLane_.find(r.lane);
        return !(r.isSlow && numSlow_ >= kSlowMax) &&
               (lane == inLane_.end() || lane->second < kLaneMax);
    };
    for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
        if (mayRun(*one)) {
            request = std::move(*one);
            waiting_.erase(one);
            numSlow_ += request.isSlow ? 1 : 0;
            if (request.lane != 0) {
                ++inLane_[request.lane];
            }
            return true;
        }
    }
    return false;
}

void RequestPool::run() {
    while (true) {
        Request request;
        {
            MutexLock lock(mutex_);
            while (!isStopping_ && !takeLocked(request)) {
                changed_.wait(mutex_);
            }
            if (isStopping_) {
                return;
            }
        }
        answered_(request.id, request.work());
        MutexLock lock(mutex_);
        numSlow_ -= request.isSlow ? 1 : 0;
        if (request.lane != 0 && --inLane_[request.lane] == 0) {
            inLane_.erase(request.lane);
        }
        changed_.notifyAll();
    }
}

}  // namespace millrace::gui

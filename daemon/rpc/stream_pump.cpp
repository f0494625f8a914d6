#include "daemon/rpc/stream_pump.h"

#include <algorithm>

#include "backend/core/thread.h"

namespace millrace::rpc {
namespace {

constexpr std::chrono::milliseconds kIdle{60'000};

}  // namespace

StreamPump::StreamPump() {
    thread_ = startThread("streams", [this](std::stop_token stop) { loop(stop); });
}

StreamPump::~StreamPump() {
    thread_.request_stop();
    poke();
    thread_.join();
}

void StreamPump::add(std::shared_ptr<PumpedStream> stream) {
    MutexLock lock(mutex_);
    added_.push_back(std::move(stream));
    isPoked_ = true;
    wake_.notifyAll();
}

void StreamPump::poke() {
    MutexLock lock(mutex_);
    isPoked_ = true;
    wake_.notifyAll();
}

void StreamPump::tellNews() {
    MutexLock lock(mutex_);
    ++news_;
    isPoked_ = true;
    wake_.notifyAll();
}

void StreamPump::endAll() {
    MutexLock lock(mutex_);
    isEnding_ = true;
    isPoked_ = true;
    wake_.notifyAll();
}

SteadyTime StreamPump::turnAll(bool isEnding, std::uint64_t news) {
    const SteadyTime now = std::chrono::steady_clock::now();
    SteadyTime next = now + kIdle;
    std::erase_if(streams_, [&](const std::shared_ptr<PumpedStream>& stream) {
        if (!stream->turn(now, isEnding, news)) {
            return true;
        }
        next = std::min(next, stream->due());
        return false;
    });
    return next;
}

void StreamPump::loop(std::stop_token stop) {
    SteadyTime next = std::chrono::steady_clock::now() + kIdle;
    while (!stop.stop_requested()) {
        bool isEnding = false;
        std::uint64_t news = 0;
        {
            MutexLock lock(mutex_);
            while (!isPoked_ && !stop.stop_requested()) {
                const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                    next - std::chrono::steady_clock::now());
                if (left.count() <= 0) {
                    break;
                }
                wake_.waitFor(mutex_, left + std::chrono::milliseconds(1));
            }
            isPoked_ = false;
            isEnding = isEnding_;
            news = news_;
            streams_.insert(streams_.end(), added_.begin(), added_.end());
            added_.clear();
        }
        next = turnAll(isEnding, news);
    }
}

}  // namespace millrace::rpc

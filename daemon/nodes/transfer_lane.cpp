#include "daemon/nodes/transfer_lane.h"

#include <algorithm>
#include <utility>

#include "backend/core/log.h"
#include "backend/core/thread.h"

namespace millrace::nodes {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstBackoff{200}, kMostBackoff{5'000}, kIdle{10'000};

}  // namespace

TransferLane::TransferLane(const std::string& name, Work work)
    : work_(std::move(work)),
      thread_(startThread(name, [this](std::stop_token stop) { loop(stop); })) {}

TransferLane::~TransferLane() {
    {
        MutexLock lock(mutex_);
        thread_.request_stop();
        wake_.notifyAll();
    }
    thread_.join();
}

TransferLane::Standing TransferLane::move(const std::string& key, const std::string& path) {
    MutexLock lock(mutex_);
    Transfer& transfer = transfers_[key];
    if (transfer.path != path) {
        transfer = {path, {}, steady_clock::now(), {}};
        wake_.notifyAll();
    }
    return transfer.standing;
}

void TransferLane::drop(const std::string& key) {
    MutexLock lock(mutex_);
    transfers_.erase(key);
}

TransferLane::Transfer* TransferLane::find(const Order& order) {
    const auto found = transfers_.find(order.key);
    const bool isThere = found != transfers_.end() && found->second.path == order.path;
    return isThere ? &found->second : nullptr;
}

void TransferLane::tell(const Order& order, std::uint64_t bytes, std::uint64_t done) {
    MutexLock lock(mutex_);
    if (Transfer* transfer = find(order)) {
        const bool isFurther = done > transfer->standing.done;
        transfer->standing.bytes = bytes;
        transfer->standing.done = done;
        if (isFurther) {
            transfer->standing.failure = okStatus();
            transfer->backoff = {};
        }
    }
}

// Returns the order that has been due for the longest time.
std::optional<TransferLane::Order> TransferLane::take(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
        const auto now = steady_clock::now();
        auto next = now + kIdle;
        const std::pair<const std::string, Transfer>* first = nullptr;
        for (const auto& one : transfers_) {
            if (!one.second.standing.isDone && one.second.due < next) {
                next = one.second.due;
                first = &one;
            }
        }
        if (first != nullptr && next <= now) {
            return Order{first->first, first->second.path};
        }
        wake_.waitFor(mutex_, std::chrono::ceil<std::chrono::milliseconds>(next - now));
    }
    return std::nullopt;
}

void TransferLane::end(const Order& order, const Status& status) {
    MutexLock lock(mutex_);
    Transfer* transfer = find(order);
    if (transfer == nullptr) {
        return;
    }
    const bool isNew = messageOf(transfer->standing.failure) != messageOf(status);
    if (!status.ok() && isNew) {
        logWarn("slot: a file is not moved yet",
                {{"gang", order.key}, {"file", order.path}, {"why", messageOf(status)}});
    }
    transfer->standing.failure = status;
    transfer->standing.isDone = status.ok();
    transfer->backoff = std::clamp(2 * transfer->backoff, kFirstBackoff, kMostBackoff);
    transfer->due = steady_clock::now() + transfer->backoff;
}

void TransferLane::loop(const std::stop_token& stop) {
    while (const std::optional<Order> order = take(stop)) {
        const Status status = work_(*order, stop);
        if (!stop.stop_requested()) {
            end(*order, status);
        }
    }
}

}  // namespace millrace::nodes

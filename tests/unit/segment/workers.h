#pragma once
// Data workers in this process: they compute a queue's segments, answer in random order and fail.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/thread.h"
#include "backend/segment/sequence/remote_segment_queue.h"
#include "backend/segment/stream_input.h"
#include "tests/unit/segment/one_worker.h"
#include "tests/unit/segment/workers_options.h"

namespace millrace::segment {

class Workers {
 public:
    Workers(std::shared_ptr<const StreamInput> input, RemoteSegmentQueue& queue,
            WorkersOptions options)
        : input_(std::move(input)),
          queue_(queue),
          options_(std::move(options)),
          draw_(options_.seed) {
        queue_.setComputesHere(options_.computesHere);
        for (int w = 0; w < options_.workers; ++w) {
            auto& worker = workers_.emplace_back(std::make_unique<OneWorker>(options_.poolBytes));
            SegmentServerOptions server;
            server.threads = options_.threads;
            server.heldBytesMax = options_.heldBytesMax;
            server.codecs = options_.codecs;
            worker->server = std::make_unique<SegmentServer>(
                input_, std::move(server), worker->pool, worker->counters, nullptr,
                [this, w](SegmentDone done) {
                    post([this, w, done = std::move(done)] { answered(w, done); });
                });
            worker->holder = std::make_shared<Holder>(*this, w);
        }
        if (options_.fetched != nullptr) {
            *options_.fetched = [this](const stream::FramePart& part) {
                Order order;
                order.name = part.name;
                order.generation = part.generation;
                return workers_[part.worker - 1]->server->frame(order, part.frame);
            };
        }
        queue_.onChange([this] { wake(); });
        thread_ = startThread("workers", [this](std::stop_token stop) { attend(stop); });
    }
    ~Workers() {
        queue_.onChange(nullptr);
        thread_.request_stop();
        wake();
        thread_.join();
        for (const auto& worker : workers_) {
            worker->server.reset();
        }
        std::vector<std::function<void()>> last;  // may post once more when it is destroyed
        {
            MutexLock lock(mutex_);
            std::swap(last, events_);
        }
    }

    std::atomic<std::int64_t> numTaken{0}, numRefused{0}, numGivenUp{0}, numLost{0}, numDamaged{0},
        mostOut{0}, mostCoded{0};

 private:
    using Order = stream::SegmentOrder;
    /// How often it looks again without an event, as a lead does.
    static constexpr std::chrono::milliseconds kTurn{1};
    class Holder final : public FrameHolder {
     public:
        Holder(Workers& workers, int worker) : workers_(workers), worker_(worker) {}
        void take(const Order& order, const FrameSpan& span,
                  const std::shared_ptr<RemoteFrames>& to) override {
            for (std::int64_t f = span.first; f < span.first + span.count; ++f) {
                workers_.post([this, order, f, to] { workers_.send(worker_, order, f, to); });
            }
        }
        void release(const Order& order) override {
            workers_.post([this, order] { workers_.drop(worker_, order); });
        }
        Place place() const override { return {static_cast<std::uint64_t>(worker_) + 1, 0}; }

     private:
        Workers& workers_;
        const int worker_;
    };

    void post(std::function<void()> event) {
        MutexLock lock(mutex_);
        events_.push_back(std::move(event));
        changed_.notifyAll();
    }
    void wake() {
        MutexLock lock(mutex_);
        isChanged_ = true;
        changed_.notifyAll();
    }
    std::size_t upTo(std::size_t count) {
        return std::uniform_int_distribution<std::size_t>(0, count - 1)(draw_);
    }
    bool chance(int percent) { return static_cast<int>(upTo(100)) < percent; }

    void attend(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            give();
            const RemoteQueueState state = queue_.state();
            mostOut = std::max<std::int64_t>(mostOut, state.numOut + state.numArrived);
            mostCoded = std::max<std::int64_t>(mostCoded, state.codedBytes);
            std::function<void()> event;
            {
                MutexLock lock(mutex_);
                while (events_.empty() && !isChanged_ && !stop.stop_requested()) {
                    if (options_.fetched == nullptr) {
                        changed_.wait(mutex_);
                    } else if (!changed_.waitFor(mutex_, kTurn)) {
                        break;
                    }
                }
                isChanged_ = false;
                if (!events_.empty()) {
                    std::swap(events_[upTo(events_.size())], events_.back());
                    event = std::move(events_.back());
                    events_.pop_back();
                }
            }
            if (event) {
                event();
            }
            if (event || options_.fetched != nullptr) {
                disturb();
            }
        }
    }

    void give() {
        for (const auto& worker : workers_) {
            while (std::ssize(worker->open) <= options_.threads) {
                const auto order = queue_.claim();
                if (!order) {
                    return;
                }
                giveTo(*worker, *order);
            }
        }
    }
    void giveTo(OneWorker& worker, const Order& order) {
        worker.orders.push_back(order);
        worker.open.push_back(order);
        worker.server->order(order);
    }

    void answered(int w, const SegmentDone& done) {
        OneWorker& worker = *workers_[static_cast<std::size_t>(w)];
        OneWorker::erase(worker.open, done.order);
        if (done.isGivenUp) {
            ++numGivenUp;
            worker.forget(done.order);
            queue_.lost(done.order);
            return;
        }
        if (done.status.code() == absl::StatusCode::kCancelled) {
            return;  // withdrawn, so the worker has room again
        }
        if (!done.status.ok()) {
            queue_.failed(done.order, done.status);
            return;
        }
        auto frames = RemoteFrames::make(input_->shape(), done.order, done.facts, worker.holder);
        if (!frames.ok()) {
            queue_.failed(done.order, frames.status());
        } else if (queue_.arrived(*frames)) {
            ++numTaken;
        } else {
            ++numRefused;
        }
    }

    void send(int w, const Order& order, std::int64_t f, const std::shared_ptr<RemoteFrames>& to) {
        auto coded = workers_[static_cast<std::size_t>(w)]->server->frame(order, f);
        if (!coded) {
            return;  // lost, and it has reported that
        }
        if (!chance(options_.damaged)) {
            const Status came = to->came(f, *coded);
            if (!came.ok()) {
                queue_.failed(order, came);
            }
            return;
        }
        auto bytes =
            std::make_shared<std::vector<std::byte>>(coded->bytes.begin(), coded->bytes.end());
        (*bytes)[upTo(bytes->size())] ^= std::byte{4};
        if (!to->came(f, {bytes, *bytes}).ok()) {
            ++numDamaged;
            queue_.lost(order);
        }
    }

    void drop(int w, const Order& order) {
        OneWorker& worker = *workers_[static_cast<std::size_t>(w)];
        worker.forget(order);
        worker.server->withdraw(order);
    }
    void disturb() {
        queue_.lookAgain();  // readers may have lost, or got, the way to a worker
        OneWorker& worker = *workers_[upTo(workers_.size())];
        if (chance(options_.lost)) {
            ++numLost;
            worker.open.clear();
            for (const Order& order : std::exchange(worker.orders, {})) {
                worker.server->withdraw(order);
                queue_.lost(order);
            }
        }
        const bool hasOrders = !worker.orders.empty();
        if (hasOrders && chance(options_.again)) {
            const auto& name = worker.orders[upTo(worker.orders.size())].name;
            if (const auto again = queue_.claimAgain(name)) {
                giveTo(*workers_[upTo(workers_.size())], *again);
            }
        }
        if (hasOrders && chance(options_.here)) {
            queue_.claimHere(worker.orders[upTo(worker.orders.size())].name);
        }
        if (chance(options_.toggled)) {
            queue_.setComputesHere(chance(50));
        }
    }

    const std::shared_ptr<const StreamInput> input_;
    RemoteSegmentQueue& queue_;
    const WorkersOptions options_;
    std::mt19937_64 draw_;  ///< of the thread
    std::vector<std::unique_ptr<OneWorker>> workers_;
    Mutex mutex_;
    CondVar changed_;
    std::vector<std::function<void()>> events_ MR_GUARDED_BY(mutex_);
    bool isChanged_ MR_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace millrace::segment

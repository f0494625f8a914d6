#pragma once
// One data worker of a test: its engine, and the orders that it has.
#include <memory>
#include <vector>

#include "backend/segment/sequence/segment_server.h"

namespace millrace::segment {

struct OneWorker {
    using Order = stream::SegmentOrder;

    explicit OneWorker(std::int64_t bytes) : pool(bytes) {}
    void forget(const Order& order) {
        erase(orders, order);
        erase(open, order);
    }
    static void erase(std::vector<Order>& orders, const Order& order) {
        std::erase_if(orders, [&](const Order& other) { return other.isSame(order); });
    }

    BufferPool pool;
    StageCounters counters;
    std::unique_ptr<SegmentServer> server;
    std::shared_ptr<FrameHolder> holder;
    std::vector<Order> orders;  ///< given and not released
    std::vector<Order> open;    ///< given, and neither answered nor dropped
};

}  // namespace millrace::segment

#include "daemon/worker/wire/order_name.h"

namespace millrace::wire {

void toMessage(const stream::SegmentOrder& order, v1::OrderName& out) {
    out.set_epoch(order.name.epoch);
    out.set_segment(static_cast<std::uint64_t>(order.name.segment));
    out.set_generation(order.generation);
}

stream::SegmentOrder orderOf(const v1::OrderName& name) {
    stream::SegmentOrder order;
    order.name = {name.epoch(), static_cast<std::int64_t>(name.segment())};
    order.generation = name.generation();
    return order;
}

stream::SegmentOrder orderOf(const stream::FramePart& part) {
    stream::SegmentOrder order;
    order.name = part.name;
    order.generation = part.generation;
    return order;
}

}  // namespace millrace::wire

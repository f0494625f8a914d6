#include "daemon/worker/wire/order_name.h"

#include <charconv>

#include "backend/core/status.h"

namespace millrace::wire {

std::string WorkerConnection::text() const {
    return strCat(worker, "/", connection);
}

WorkerConnection WorkerConnection::parse(std::string_view text) {
    WorkerConnection parsed;
    const char* const end = text.data() + text.size();
    const auto [slash, wrong] = std::from_chars(text.data(), end, parsed.worker);
    if (wrong != std::errc() || slash == end || *slash != '/' ||
        std::from_chars(slash + 1, end, parsed.connection).ptr != end) {
        return {};
    }
    return parsed;
}

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

#pragma once
// Names of orders as messages: the holder of a frame identifies it by its order.
//
// Threads: values.
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/stream/frame_part.h"
#include "backend/stream/segment_order.h"
#include "millrace/v1/data.pb.h"

namespace millrace::wire {

/// Metadata key: for a feed, the session that it gave to a worker; for a relay, a WorkerConnection.
inline constexpr char kSessionKey[] = "millrace-session-bin";

/// A data worker's connection to a relay, as a text: both numbers in decimal.
struct WorkerConnection {
    std::uint64_t worker = 0;      ///< 0: the text was none
    std::uint32_t connection = 0;  ///< counts the worker's connections to the relay, from 1
    std::string text() const;
    static WorkerConnection parse(std::string_view text);
};

void toMessage(const stream::SegmentOrder& order, v1::OrderName& out);
/// Returns an order with only name and generation.
stream::SegmentOrder orderOf(const v1::OrderName& name);
stream::SegmentOrder orderOf(const stream::FramePart& part);

}  // namespace millrace::wire

#pragma once
// Converts what head and agents exchange to and from messages. Used by AgentListener, AgentReports
// and Slot.
//
// Threads: values. Failure: a value that no sender of this build produces becomes the most neutral
// one: a gang with an unknown phase counts as missing.
#include <cstdint>
#include <string>

#include "daemon/agent/membership/node_table.h"
#include "millrace/v1/agent.pb.h"

namespace millrace::nodes {

/// `nowMs`: by the clock of the state's times; the message has time spans up to it.
v1::GangReport toProto(const std::string& key, const engines::State& state, std::int64_t nowMs);
/// Times are `nowMs` less the message's spans.
engines::State fromProto(const v1::GangReport& message, std::int64_t nowMs);

v1::HeadOrders toProto(const agent::NodeOrders& orders);
agent::NodeOrders fromProto(const v1::HeadOrders& message);

}  // namespace millrace::nodes

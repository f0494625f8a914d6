#pragma once
// What head and agents tell each other as messages, both ways.
//
// Threads: values. Failure: what no sender of this build makes becomes what says least: a gang
// whose phase is not known is missing.
#include <cstdint>
#include <string>

#include "daemon/agent/node_table.h"
#include "millrace/v1/agent.pb.h"

namespace millrace::nodes {

/// `nowMs`: by the clock that made the state; spans are taken from it.
v1::GangReport toProto(const std::string& key, const engines::State& state, std::int64_t nowMs);
/// Times are `nowMs` less the spans.
engines::State fromProto(const v1::GangReport& message, std::int64_t nowMs);

v1::HeadOrders toProto(const agent::NodeOrders& orders);
agent::NodeOrders fromProto(const v1::HeadOrders& message);

}  // namespace millrace::nodes

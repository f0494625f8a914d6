#include "daemon/nodes/messages.h"

#include "daemon/transport/join_file.h"
#include "proto/convert/run_convert.h"

namespace millrace::nodes {
namespace {

template <class Value>
Value valueOf(const std::string& text, Value last, Value otherwise) {
    for (int i = 0; i <= static_cast<int>(last); ++i) {
        if (engines::textOf(static_cast<Value>(i)) == text) {
            return static_cast<Value>(i);
        }
    }
    return otherwise;
}

engines::WorkerState fromProto(const v1::GangWorker& message, std::int64_t nowMs) {
    engines::WorkerState worker;
    worker.name = message.name();
    worker.isCritical = false;
    worker.isStarted = message.is_started();
    worker.numReplaced = message.num_replaced();
    worker.pid = message.pid();
    if (message.has_exit_code()) {
        worker.exitCode = message.exit_code();
        worker.isExitAssumed = message.is_exit_assumed();
        worker.signal = message.signal();
        worker.endedMs = nowMs - message.ended_ago_ms();
    }
    worker.cpuSeconds = message.cpu_seconds();
    worker.peakMemoryBytes = message.peak_memory_bytes();
    worker.isSilent = message.is_silent();
    worker.silentSinceMs = worker.isSilent ? nowMs - message.silent_for_ms() : 0;
    return worker;
}

void fill(const engines::WorkerState& worker, std::int64_t nowMs, v1::GangWorker& out) {
    out.set_name(worker.name);
    out.set_is_started(worker.isStarted);
    out.set_num_replaced(worker.numReplaced);
    out.set_pid(worker.pid);
    if (worker.exitCode.has_value()) {
        out.set_exit_code(*worker.exitCode);
        out.set_is_exit_assumed(worker.isExitAssumed);
        out.set_signal(worker.signal);
        out.set_ended_ago_ms(nowMs - worker.endedMs);
    }
    out.set_cpu_seconds(worker.cpuSeconds);
    out.set_peak_memory_bytes(worker.peakMemoryBytes);
    if (worker.isSilent) {
        out.set_is_silent(true);
        out.set_silent_for_ms(nowMs - worker.silentSinceMs);
    }
}

}  // namespace

v1::GangReport toProto(const std::string& key, const engines::State& state, std::int64_t nowMs) {
    v1::GangReport message;
    message.set_key(key);
    message.set_phase(std::string(engines::textOf(state.phase)));
    message.set_cause(std::string(engines::textOf(state.cause)));
    message.set_worker(state.worker);
    message.set_exit_code(state.exitCode);
    message.set_reason(state.reason);
    message.set_master_port(state.masterPort);
    if (state.handOver.has_value()) {
        *message.mutable_hand_over() = convert::toProto(*state.handOver);
    }
    for (const engines::WorkerState& worker : state.workers) {
        fill(worker, nowMs, *message.add_workers());
    }
    return message;
}

engines::State fromProto(const v1::GangReport& message, std::int64_t nowMs) {
    engines::State state;
    state.phase = valueOf(message.phase(), engines::Phase::kMissing, engines::Phase::kMissing);
    state.cause = valueOf(message.cause(), engines::Cause::kEngineFailed, engines::Cause::kNone);
    state.worker = message.worker();
    state.exitCode = message.exit_code();
    state.reason = message.reason();
    state.masterPort = message.master_port();
    if (message.has_hand_over()) {
        state.handOver = convert::fromProto(message.hand_over());
    }
    for (const v1::GangWorker& worker : message.workers()) {
        state.workers.push_back(fromProto(worker, nowMs));
    }
    state.asOfMs = nowMs;
    return state;
}

namespace {

// A node that has a data worker but no part of the attempt gets no token that is valid for ranks.
std::string joinFileFor(const agent::Placement& placement) {
    const auto file = transport::JoinFile::fromText(placement.joinFile, placement.key);
    const bool isData = agent::DataWorkerName::parse(placement.key).has_value();
    return isData && file.ok() ? file->ofDataWorker().toText() : placement.joinFile;
}

}  // namespace

v1::HeadOrders toProto(const agent::NodeOrders& orders) {
    v1::HeadOrders message;
    for (const agent::NodeOrders::Placed& one : orders.placed) {
        v1::Placement& placed = *message.add_placed();
        placed.set_key(one.placement.key);
        placed.set_gang(one.placement.gang);
        placed.set_job_file(one.placement.jobFile);
        placed.set_join_file(joinFileFor(one.placement));
        placed.set_probe_path(one.placement.probePath);
        placed.set_probe_text(one.placement.probeText);
        placed.mutable_log_offsets()->insert(one.logOffsets.begin(), one.logOffsets.end());
    }
    for (const auto& [key, request] : orders.ended) {
        v1::GangEnd& end = *message.add_ended();
        end.set_key(key);
        end.set_grace_ms(request.grace.count());
        end.set_why(request.why);
    }
    message.set_wants_samples(orders.wantsSamples);
    message.set_is_end(orders.isEnd);
    return message;
}

agent::NodeOrders fromProto(const v1::HeadOrders& message) {
    agent::NodeOrders orders;
    for (const v1::Placement& one : message.placed()) {
        agent::NodeOrders::Placed placed;
        placed.placement = {one.key(),       one.gang(),       one.job_file(),
                            one.join_file(), one.probe_path(), one.probe_text()};
        placed.logOffsets.insert(one.log_offsets().begin(), one.log_offsets().end());
        orders.placed.push_back(std::move(placed));
    }
    for (const v1::GangEnd& end : message.ended()) {
        orders.ended[end.key()] = {std::chrono::milliseconds(end.grace_ms()), end.why()};
    }
    orders.wantsSamples = message.wants_samples();
    orders.isEnd = message.is_end();
    return orders;
}

}  // namespace millrace::nodes

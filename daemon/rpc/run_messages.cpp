#include "daemon/rpc/run_messages.h"

#include "proto/convert/run_convert.h"

namespace millrace::rpc {

v1::MetricChunk toProto(const agent::MetricChanges& changes) {
    v1::MetricChunk out;
    for (const agent::MetricValue& value : changes.points) {
        const runs::MetricPoint& at = value.point;
        *out.add_points() = convert::toProto(values::RunFigure{
            value.name, at.value, at.step, at.timeMs, at.epoch, at.rows, at.attempt});
    }
    // 0 says "nothing is replaced", so a restart from the very start is -1.
    const std::int64_t after = changes.replacesAfterStep;
    out.set_replaces_after_step(after < 0 ? 0 : (after == 0 ? -1 : after));
    out.set_is_end(changes.isEnd);
    return out;
}

}  // namespace millrace::rpc

#include "app/client/translate.h"

#include "proto/convert/run_convert.h"

namespace millrace::client {

MetricSeries toValue(const v1::MetricSeries& from) {
    MetricSeries to;
    to.name = from.name();
    to.steps.assign(from.steps().begin(), from.steps().end());
    to.timesMs.assign(from.times_ms().begin(), from.times_ms().end());
    to.rows.assign(from.rows().begin(), from.rows().end());
    to.values.assign(from.values().begin(), from.values().end());
    to.isDecimated = from.is_decimated();
    to.problem = from.problem();
    to.pointsTotal = from.points_total();
    return to;
}

MetricChunk toValue(const v1::MetricChunk& from) {
    MetricChunk to;
    for (const v1::Metric& point : from.points()) {
        to.points.push_back(convert::fromProto(point));
    }
    to.isEnd = from.is_end();
    to.replacesAfterStep = from.replaces_after_step();
    return to;
}

v1::MetricRangeRequest toMessage(const MetricRangeRequest& from) {
    v1::MetricRangeRequest to;
    to.set_run(from.run);
    to.mutable_names()->Add(from.names.begin(), from.names.end());
    to.set_from_step(from.fromStep);
    to.set_to_step(from.toStep);
    to.set_max_points(static_cast<std::uint32_t>(from.maxPoints));
    to.set_with_system(from.withSystem);
    return to;
}

}  // namespace millrace::client

#include "app/client/translate.h"

#include "proto/convert/metric_convert.h"

namespace millrace::client {

MetricSeries toValue(const v1::MetricSeries& from) {
    const values::MetricSeries series = convert::fromProto(from);
    MetricSeries to;
    to.name = series.key;
    to.isDecimated = series.isDecimated;
    to.problem = series.problem;
    to.pointsTotal = static_cast<std::uint64_t>(series.numPoints);
    bool isOfRanks = false;
    for (const values::MetricPoint& point : series.points) {
        to.steps.push_back(point.step);
        to.timesMs.push_back(point.timeMs);
        to.rows.push_back(point.rows);
        to.values.push_back(point.value);
        to.ranks.push_back(point.ranks);
        isOfRanks = isOfRanks || point.ranks.has_value();
    }
    if (!isOfRanks) {
        to.ranks.clear();
    }
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
    if (from.rank != values::kNoRank) {
        to.set_rank(from.rank);
    }
    return to;
}

}  // namespace millrace::client

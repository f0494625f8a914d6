#include "proto/convert/metric_convert.h"

namespace millrace::convert {

v1::MetricSeries toProto(const runs::MetricSeries& series) {
    v1::MetricSeries out;
    out.set_name(series.key);
    out.set_points_total(static_cast<std::uint64_t>(series.numPoints));
    out.set_is_decimated(series.isDecimated);
    out.set_problem(series.problem);
    const auto count = static_cast<int>(series.points.size());
    out.mutable_steps()->Reserve(count);
    out.mutable_times_ms()->Reserve(count);
    out.mutable_values()->Reserve(count);
    out.mutable_epochs()->Reserve(count);
    out.mutable_rows()->Reserve(count);
    out.mutable_attempts()->Reserve(count);
    for (const runs::MetricPoint& point : series.points) {
        out.add_steps(point.step);
        out.add_times_ms(point.timeMs);
        out.add_values(point.value);
        out.add_epochs(point.epoch);
        out.add_rows(point.rows);
        out.add_attempts(point.attempt);
    }
    return out;
}

}  // namespace millrace::convert

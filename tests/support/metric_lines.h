#pragma once
// Metric lines for tests: made from named points, and read back as points.
//
// A key's number is a hash of its name, so that any two chunks agree. Threads: any.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/follow_events.h"
#include "backend/values/metric_line.h"
#include "backend/values/run_summary.h"

namespace millrace::client {

inline std::uint32_t metricKeyOf(const std::string& name) {
    std::uint32_t hash = 2'166'136'261U;
    for (const char c : name) {
        hash = (hash ^ static_cast<std::uint8_t>(c)) * 16'777'619U;
    }
    return hash;
}

/// One line per point, numbered from `first` on.
inline values::MetricChunk chunkOf(const std::vector<values::RunFigure>& points, bool isEnd = false,
                                   std::optional<std::int64_t> replacesAfterStep = std::nullopt,
                                   std::int64_t first = 1) {
    values::MetricChunk chunk;
    chunk.cursor = {1, first - 1};
    for (const values::RunFigure& point : points) {
        values::MetricLine& line = chunk.lines.emplace_back();
        line.number = ++chunk.cursor.line;
        line.step = point.step;
        line.epoch = point.epoch;
        line.rows = point.rows;
        line.timeMs = point.timeMs;
        line.attempt = point.attempt;
        line.values = {{metricKeyOf(point.name), point.value, std::nullopt}};
        chunk.names[metricKeyOf(point.name)] = point.name;
    }
    chunk.isEnd = isEnd;
    chunk.isCaughtUp = isEnd;
    chunk.replacesAfterStep = replacesAfterStep;
    return chunk;
}

inline std::vector<values::RunFigure> pointsOf(const std::vector<values::MetricLine>& lines,
                                               const values::MetricNames& names) {
    std::vector<values::RunFigure> points;
    for (const values::MetricLine& line : lines) {
        for (const values::MetricValue& value : line.values) {
            points.push_back({names.at(value.key), value.value, line.step, line.timeMs, line.epoch,
                              line.rows, line.attempt});
        }
    }
    return points;
}

}  // namespace millrace::client

namespace millrace::session {

inline MetricsAdded addedOf(const std::string& run, const std::vector<values::RunFigure>& points) {
    values::MetricChunk chunk = client::chunkOf(points);
    return {run, std::make_shared<const values::MetricNames>(std::move(chunk.names)),
            std::move(chunk.lines)};
}

inline std::vector<values::RunFigure> pointsOf(const MetricsAdded& added) {
    return client::pointsOf(added.lines, *added.names);
}

}  // namespace millrace::session

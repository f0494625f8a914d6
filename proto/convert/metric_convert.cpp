#include "proto/convert/metric_convert.h"

#include <algorithm>

#include "proto/convert/fields.h"

namespace millrace::convert {
namespace {

void addSpread(const std::optional<values::RankSpread>& ranks, v1::RankSpreads& out) {
    const values::RankSpread spread = ranks.value_or(values::RankSpread{});
    out.add_least(spread.least);
    out.add_greatest(spread.greatest);
    out.add_least_rank(spread.leastRank);
    out.add_greatest_rank(spread.greatestRank);
    out.add_ranks(spread.numRanks);
}

std::optional<values::RankSpread> spreadAt(const v1::RankSpreads& from, int i) {
    const int count = std::min({from.least_size(), from.greatest_size(), from.least_rank_size(),
                                from.greatest_rank_size(), from.ranks_size()});
    if (i >= count || from.ranks(i) <= 0) {
        return std::nullopt;
    }
    return values::RankSpread{from.least(i), from.greatest(i), from.least_rank(i),
                              from.greatest_rank(i), from.ranks(i)};
}

template <class Way>
void rankField(Way, auto& value, auto& message) {
    if constexpr (Way::isWriting) {
        if (value.rank != values::kNoRank) {
            message.set_rank(value.rank);
        }
    } else {
        value.rank = message.has_rank() ? message.rank() : values::kNoRank;
    }
}

template <class Way>
void rangeRequestFields(Way way, auto& value, auto& message) {
    MR_FIELD(run, run);
    MR_LIST(names, names);
    MR_FIELD(fromStep, from_step);
    MR_FIELD(toStep, to_step);
    MR_FIELD(maxPoints, max_points);
    MR_FIELD(withSystem, with_system);
    rankField(way, value, message);
}

template <class Way>
void metricsRequestFields(Way way, auto& value, auto& message) {
    MR_FIELD(run, run);
    MR_LIST(names, names);
    MR_FIELD(fromStep, from_step);
    MR_FIELD(withSystem, with_system);
    rankField(way, value, message);
    MR_VALUE(after, after);
}

template <class Way>
void historyFields(Way, auto& value, auto& message) {
    MR_FIELD(runId, run_id);
    MR_VALUES(series, series);
    MR_VALUE(cursor, cursor);
}

v1::MetricLine toProto(const values::MetricLine& line) {
    v1::MetricLine out;
    out.set_number(line.number);
    out.set_step(line.step);
    out.set_epoch(line.epoch);
    out.set_rows(line.rows);
    out.set_time_ms(line.timeMs);
    out.set_attempt(line.attempt);
    rankField(ToMessage(), line, out);
    const bool withSpreads =
        std::any_of(line.values.begin(), line.values.end(),
                    [](const values::MetricValue& value) { return value.ranks.has_value(); });
    for (const values::MetricValue& value : line.values) {
        out.add_keys(value.key);
        out.add_values(value.value);
        if (withSpreads) {
            addSpread(value.ranks, *out.mutable_spreads());
        }
    }
    return out;
}

values::MetricLine fromProto(const v1::MetricLine& line) {
    values::MetricLine out;
    out.number = line.number();
    out.step = line.step();
    out.epoch = line.epoch();
    out.rows = line.rows();
    out.timeMs = line.time_ms();
    out.attempt = line.attempt();
    rankField(FromMessage(), out, line);
    const int count = std::min(line.keys_size(), line.values_size());
    for (int i = 0; i < count; ++i) {
        out.values.push_back({line.keys(i), line.values(i), spreadAt(line.spreads(), i)});
    }
    return out;
}

}  // namespace

v1::MetricSeries toProto(const values::MetricSeries& series) {
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
    const bool withSpreads = series.isOfRanks();
    for (const values::MetricPoint& point : series.points) {
        out.add_steps(point.step);
        out.add_times_ms(point.timeMs);
        out.add_values(point.value);
        out.add_epochs(point.epoch);
        out.add_rows(point.rows);
        out.add_attempts(point.attempt);
        if (withSpreads) {
            addSpread(point.ranks, *out.mutable_spreads());
        }
    }
    return out;
}

values::MetricSeries fromProto(const v1::MetricSeries& series) {
    values::MetricSeries out;
    out.key = series.name();
    out.numPoints = static_cast<std::int64_t>(series.points_total());
    out.isDecimated = series.is_decimated();
    out.problem = series.problem();
    const int count = std::min(series.steps_size(), series.values_size());
    for (int i = 0; i < count; ++i) {
        values::MetricPoint point;
        point.step = series.steps(i);
        point.value = series.values(i);
        point.timeMs = i < series.times_ms_size() ? series.times_ms(i) : 0;
        point.epoch = i < series.epochs_size() ? series.epochs(i) : 0;
        point.rows = i < series.rows_size() ? series.rows(i) : 0;
        point.attempt = i < series.attempts_size() ? series.attempts(i) : 1;
        point.ranks = spreadAt(series.spreads(), i);
        out.points.push_back(point);
    }
    return out;
}

v1::MetricCursor toProto(const values::MetricCursor& cursor) {
    v1::MetricCursor out;
    out.set_attempt(cursor.attempt);
    out.set_line(cursor.line);
    return out;
}

values::MetricCursor fromProto(const v1::MetricCursor& cursor) {
    return {cursor.attempt(), cursor.line()};
}

MR_BOTH_WAYS(MetricRangeRequest, MetricRangeRequest, rangeRequestFields)
MR_BOTH_WAYS(MetricsRequest, WatchMetricsRequest, metricsRequestFields)
MR_BOTH_WAYS(MetricHistory, MetricRangeResponse, historyFields)

v1::MetricChunk toProto(const values::MetricChunk& chunk) {
    v1::MetricChunk out;
    out.mutable_names()->insert(chunk.names.begin(), chunk.names.end());
    for (const values::MetricLine& line : chunk.lines) {
        *out.add_lines() = toProto(line);
    }
    *out.mutable_cursor() = toProto(chunk.cursor);
    out.set_is_end(chunk.isEnd);
    out.set_is_caught_up(chunk.isCaughtUp);
    if (chunk.replacesAfterStep) {
        out.set_replaces_after_step(*chunk.replacesAfterStep);
    }
    return out;
}

values::MetricChunk fromProto(const v1::MetricChunk& chunk) {
    values::MetricChunk out;
    out.names = {chunk.names().begin(), chunk.names().end()};
    for (const v1::MetricLine& line : chunk.lines()) {
        out.lines.push_back(fromProto(line));
    }
    out.cursor = fromProto(chunk.cursor());
    out.isEnd = chunk.is_end();
    out.isCaughtUp = chunk.is_caught_up();
    if (chunk.has_replaces_after_step()) {
        out.replacesAfterStep = chunk.replaces_after_step();
    }
    return out;
}

}  // namespace millrace::convert

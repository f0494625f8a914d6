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

// The members of a line that are not columns.
template <class Way>
void lineFields(Way way, auto& value, auto& message) {
    MR_FIELD(number, number);
    MR_FIELD(step, step);
    MR_FIELD(epoch, epoch);
    MR_FIELD(rows, rows);
    MR_FIELD(timeMs, time_ms);
    MR_FIELD(attempt, attempt);
    rankField(way, value, message);
}

}  // namespace

v1::MetricLine toProto(const values::MetricLine& line) {
    v1::MetricLine out;
    lineFields(ToMessage(), line, out);
    const bool withSpreads = std::ranges::any_of(
        line.values, [](const values::MetricValue& value) { return value.ranks.has_value(); });
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
    lineFields(FromMessage(), out, line);
    const int count = std::min(line.keys_size(), line.values_size());
    for (int i = 0; i < count; ++i) {
        out.values.push_back({line.keys(i), line.values(i), spreadAt(line.spreads(), i)});
    }
    return out;
}

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

MR_BOTH_WAYS(MetricCursor, MetricCursor) {
    MR_FIELD(attempt, attempt);
    MR_FIELD(line, line);
}

MR_BOTH_WAYS(MetricRangeRequest, MetricRangeRequest) {
    MR_FIELD(run, run);
    MR_LIST(names, names);
    MR_FIELD(fromStep, from_step);
    MR_FIELD(toStep, to_step);
    MR_FIELD(maxPoints, max_points);
    MR_FIELD(withSystem, with_system);
    rankField(way, value, message);
}

MR_BOTH_WAYS(MetricsRequest, WatchMetricsRequest) {
    MR_FIELD(run, run);
    MR_LIST(names, names);
    MR_FIELD(fromStep, from_step);
    MR_FIELD(withSystem, with_system);
    rankField(way, value, message);
    MR_VALUE(after, after);
}

MR_BOTH_WAYS(MetricHistory, MetricRangeResponse) {
    MR_FIELD(runId, run_id);
    MR_VALUES(series, series);
    MR_VALUE(cursor, cursor);
}

MR_BOTH_WAYS(MetricChunk, MetricChunk) {
    MR_MAP(names, names);
    MR_VALUES(lines, lines);
    MR_VALUE(cursor, cursor);
    MR_FIELD(isEnd, is_end);
    MR_FIELD(isCaughtUp, is_caught_up);
    MR_OPTIONAL(replacesAfterStep, replaces_after_step);
}

}  // namespace millrace::convert

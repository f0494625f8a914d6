// Functions of dates and times: all in UTC but for timezone(), weeks begin on Monday.
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/type.h>

#include "backend/dataset/arrow_bridge.h"
#include "backend/recipe/evaluator.h"
#include "backend/recipe/function_calls.h"

namespace millrace::recipe {
namespace {

using arrow::compute::CalendarUnit;
using F = spec::FunctionId;
using spec::ExprNode;

constexpr std::int64_t kMicros = 1'000'000;

struct Part {
    const char* name;
    const char* kernel;   ///< of the part's number
    const char* between;  ///< of the beginnings between two times; null: not for date_diff
    CalendarUnit unit;
};

constexpr Part kParts[] = {{"year", "year", "years_between", CalendarUnit::YEAR},
                           {"quarter", "quarter", "quarters_between", CalendarUnit::QUARTER},
                           {"month", "month", "", CalendarUnit::MONTH},
                           {"week", "iso_week", "weeks_between", CalendarUnit::WEEK},
                           {"day", "day", "days_between", CalendarUnit::DAY},
                           {"dayofyear", "day_of_year", nullptr, CalendarUnit::DAY},
                           {"dayofweek", "day_of_week", nullptr, CalendarUnit::DAY},
                           {"isodow", "day_of_week", nullptr, CalendarUnit::DAY},
                           {"hour", "hour", "hours_between", CalendarUnit::HOUR},
                           {"minute", "minute", "minutes_between", CalendarUnit::MINUTE},
                           {"second", "second", "seconds_between", CalendarUnit::SECOND}};

const Part* findPart(std::string_view name) {
    for (const Part& part : kParts) {
        if (name == part.name) {
            return &part;
        }
    }
    return nullptr;
}

Result<Datum> partNumber(std::string_view name, const Datum& time) {
    const Part* part = findPart(name);
    if (part == nullptr) {
        return internalError("no part of a time is called ", name);
    }
    if (name == "dayofweek") {
        const arrow::compute::DayOfWeekOptions fromSunday(/*count_from_zero=*/true,
                                                          /*week_start=*/7);
        return callKernel(part->kernel, {time}, &fromSunday);
    }
    if (name == "isodow") {
        const arrow::compute::DayOfWeekOptions fromMonday(/*count_from_zero=*/false,
                                                          /*week_start=*/1);
        return callKernel(part->kernel, {time}, &fromMonday);
    }
    return callKernel(part->kernel, {time});
}

Result<Datum> truncate(const ExprNode& node, const Datum& time) {
    const Part* part = findPart(textArgument(node, 0));
    if (part == nullptr) {
        return internalError("no part of a time is called ", textArgument(node, 0));
    }
    const arrow::compute::RoundTemporalOptions options(1, part->unit, /*week_starts_monday=*/true);
    return callKernel("floor_temporal", {time}, &options);
}

/// Arrow has no kernel of its own for months.
Result<Datum> monthsBetween(const Datum& from, const Datum& to) {
    const Datum twelve{std::int64_t{12}};
    ASSIGN_OR_RETURN(const Datum years, callKernel("years_between", {from, to}));
    ASSIGN_OR_RETURN(const Datum whole, callKernel("multiply", {years, twelve}));
    ASSIGN_OR_RETURN(const Datum first, callKernel("month", {from}));
    ASSIGN_OR_RETURN(const Datum last, callKernel("month", {to}));
    ASSIGN_OR_RETURN(const Datum rest, callKernel("subtract", {last, first}));
    return callKernel("add", {whole, rest});
}

Result<Datum> difference(const ExprNode& node, const std::vector<Datum>& c) {
    const Part* part = findPart(textArgument(node, 0));
    if (part == nullptr || part->between == nullptr) {
        return internalError("no difference in ", textArgument(node, 0));
    }
    if (part->unit == CalendarUnit::MONTH) {
        return monthsBetween(c[1], c[2]);
    }
    const arrow::compute::DayOfWeekOptions fromMonday(/*count_from_zero=*/true, /*week_start=*/1);
    const bool isWeek = part->unit == CalendarUnit::WEEK;
    return callKernel(part->between, {c[1], c[2]}, isWeek ? &fromMonday : nullptr);
}

/// Seconds (with their fraction), milli- or microseconds since 1970.
Result<Datum> epochOf(F id, const Datum& time, std::int64_t rows) {
    ASSIGN_OR_RETURN(const ArrayPtr times, asArray(time, rows));
    const auto& in = static_cast<const arrow::TimestampArray&>(*times);
    arrow::DoubleBuilder seconds;
    arrow::Int64Builder units;
    for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t us = in.IsNull(i) ? 0 : in.Value(i);
        const std::int64_t ms = us / 1000 - (us % 1000 < 0 ? 1 : 0);
        arrow::Status status;
        if (id == F::kEpoch) {
            status =
                in.IsNull(i) ? seconds.AppendNull() : seconds.Append(static_cast<double>(us) / 1e6);
        } else {
            status = in.IsNull(i) ? units.AppendNull() : units.Append(id == F::kEpochMs ? ms : us);
        }
        RETURN_IF_ERROR(dataset::fromArrow(status, "epoch"));
    }
    return id == F::kEpoch ? finished(seconds) : finished(units);
}

Result<Datum> makeTimestamp(const Datum& argument, std::int64_t rows) {
    ASSIGN_OR_RETURN(const ArrayPtr micros, asArray(argument, rows));
    const auto view = micros->View(arrow::timestamp(arrow::TimeUnit::MICRO));
    RETURN_IF_ERROR(dataset::fromArrow(view.status(), "make_timestamp"));
    return Datum(*view);
}

/// What clocks show in the zone: every time has one, also where clocks are set back.
Result<Datum> localTime(const ExprNode& node, const Datum& time, std::int64_t rows) {
    const auto& zone = node.children[0]->zone;
    if (zone == nullptr) {
        return internalError("timezone(): the zone's rules were not loaded");
    }
    ASSIGN_OR_RETURN(const ArrayPtr times, asArray(time, rows));
    const auto& in = static_cast<const arrow::TimestampArray&>(*times);
    arrow::TimestampBuilder out(arrow::timestamp(arrow::TimeUnit::MICRO),
                                arrow::default_memory_pool());
    RETURN_IF_ERROR(dataset::fromArrow(out.Reserve(rows), "timezone"));
    TimeZone::Stretch stretch;  // rows of one batch are mostly of one
    for (std::int64_t i = 0; i < rows; ++i) {
        if (in.IsNull(i)) {
            out.UnsafeAppendNull();
            continue;
        }
        const std::int64_t us = in.Value(i);
        const std::int64_t seconds = us / kMicros - (us % kMicros < 0 ? 1 : 0);
        if (seconds < stretch.begin || seconds >= stretch.end) {
            stretch = zone->at(seconds);
        }
        std::int64_t local = 0;
        if (__builtin_add_overflow(us, stretch.offset * kMicros, &local)) {
            return invalidArgument("timezone(): a time beyond the years of a timestamp");
        }
        out.UnsafeAppend(local);
    }
    return finished(out);
}

// A function of one part of a time.
struct PartName {
    char text[12];
};

template <PartName kName>
Result<Datum> part(const ExprNode&, const std::vector<Datum>& c, std::int64_t) {
    return partNumber(kName.text, c[0]);
}

template <F kId>
Result<Datum> epoch(const ExprNode&, const std::vector<Datum>& c, std::int64_t rows) {
    return epochOf(kId, c[0], rows);
}

constexpr FunctionKernel kTimeKernels[] = {
    {F::kYear, part<PartName{"year"}>},
    {F::kMonth, part<PartName{"month"}>},
    {F::kDay, part<PartName{"day"}>},
    {F::kHour, part<PartName{"hour"}>},
    {F::kMinute, part<PartName{"minute"}>},
    {F::kSecond, part<PartName{"second"}>},
    {F::kQuarter, part<PartName{"quarter"}>},
    {F::kWeek, part<PartName{"week"}>},
    {F::kDayOfYear, part<PartName{"dayofyear"}>},
    {F::kDayOfWeek, part<PartName{"dayofweek"}>},
    {F::kIsoDayOfWeek, part<PartName{"isodow"}>},
    {F::kDatePart, [](const ExprNode& node, const std::vector<Datum>& c,
                      std::int64_t) { return partNumber(textArgument(node, 0), c[1]); }},
    {F::kDateTrunc, [](const ExprNode& node, const std::vector<Datum>& c,
                       std::int64_t) { return truncate(node, c[1]); }},
    {F::kDateDiff, [](const ExprNode& node, const std::vector<Datum>& c,
                      std::int64_t) { return difference(node, c); }},
    {F::kEpoch, epoch<F::kEpoch>},
    {F::kEpochMs, epoch<F::kEpochMs>},
    {F::kEpochUs, epoch<F::kEpochUs>},
    {F::kMakeTimestamp, [](const ExprNode&, const std::vector<Datum>& c,
                           std::int64_t rows) { return makeTimestamp(c[0], rows); }},
    {F::kTimeZone, [](const ExprNode& node, const std::vector<Datum>& c,
                      std::int64_t rows) { return localTime(node, c[1], rows); }},
};

}  // namespace

std::span<const FunctionKernel> timeKernels() {
    return kTimeKernels;
}

}  // namespace millrace::recipe

// Kernels of dates and times: all in UTC except timezone(); weeks begin on Monday.
#include <string_view>

#include "backend/eval/civil_days.h"
#include "backend/eval/function_calls.h"
#include "backend/eval/lanes/lane_kernels.h"

namespace millrace::eval {
namespace {

using expr::ExprNode;
using F = expr::FunctionId;

constexpr std::int64_t kMicros = 1'000'000, kHour = 3600 * kMicros, kMinute = 60 * kMicros;

std::int32_t dayOf(std::int64_t us) {
    return static_cast<std::int32_t>(floorUnits(us, kMicrosOfDay));
}

CivilDay civilOf(std::int64_t us) {
    return civilOfDays(dayOf(us));
}

/// A start before the first representable microsecond wraps around.
std::int64_t timesUnit(std::int64_t count, std::int64_t unit) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(count) *
                                     static_cast<std::uint64_t>(unit));
}

std::int64_t ofDays(std::int64_t days) {
    return timesUnit(days, kMicrosOfDay);
}

// For each part of a time: its value, its running count, and its start. A difference is the number
// of starts in between.

struct Year {
    static std::int64_t number(std::int64_t us) { return civilOf(us).year; }
    static std::int64_t count(std::int64_t us) { return number(us); }
    static std::int64_t begin(std::int64_t us) {
        return ofDays(daysOfCivil(civilOf(us).year, 1, 1));
    }
};

struct Quarter {
    static std::int64_t number(std::int64_t us) { return (civilOf(us).month + 2) / 3; }
    static std::int64_t count(std::int64_t us) {
        const CivilDay day = civilOf(us);
        return std::int64_t{4} * day.year + (day.month - 1) / 3;
    }
    static std::int64_t begin(std::int64_t us) {
        const CivilDay day = civilOf(us);
        return ofDays(daysOfCivil(day.year, day.month - (day.month - 1) % 3, 1));
    }
};

struct Month {
    static std::int64_t number(std::int64_t us) { return civilOf(us).month; }
    static std::int64_t count(std::int64_t us) {
        const CivilDay day = civilOf(us);
        return std::int64_t{12} * day.year + day.month;
    }
    static std::int64_t begin(std::int64_t us) {
        const std::int32_t day = dayOf(us);
        return ofDays(day - civilOfDays(day).day + 1);
    }
};

struct Week {
    /// ISO 8601: the number in the year that contains the week's Thursday.
    static std::int64_t number(std::int64_t us) {
        const std::int32_t day = dayOf(us);
        const std::int32_t thursday = day - weekdayOf(day) + 3;
        return (thursday - daysOfCivil(civilOfDays(thursday).year, 1, 1)) / 7 + 1;
    }
    static std::int64_t count(std::int64_t us) {
        const std::int32_t day = dayOf(us);
        return (day - weekdayOf(day) + 3) / 7;  // 1969-12-29 was a Monday: counts whole weeks from
                                                // there
    }
    static std::int64_t begin(std::int64_t us) {
        const std::int32_t day = dayOf(us);
        return ofDays(day - weekdayOf(day));
    }
};

struct Day {
    static std::int64_t number(std::int64_t us) { return civilOf(us).day; }
    static std::int64_t count(std::int64_t us) { return dayOf(us); }
    static std::int64_t begin(std::int64_t us) { return ofDays(dayOf(us)); }
};

struct DayOfYear {
    static std::int64_t number(std::int64_t us) {
        const std::int32_t day = dayOf(us);
        return day - daysOfCivil(civilOfDays(day).year, 1, 1) + 1;
    }
};

struct DayOfWeek {
    static std::int64_t number(std::int64_t us) { return (weekdayOf(dayOf(us)) + 1) % 7; }
};

struct IsoDayOfWeek {
    static std::int64_t number(std::int64_t us) { return weekdayOf(dayOf(us)) + 1; }
};

template <std::int64_t kUnit, std::int64_t kOf>
struct Clock {
    static std::int64_t number(std::int64_t us) {
        const std::int64_t rest = us % kOf;
        return (rest < 0 ? rest + kOf : rest) / kUnit;
    }
    static std::int64_t count(std::int64_t us) { return floorUnits(us, kUnit); }
    static std::int64_t begin(std::int64_t us) { return timesUnit(floorUnits(us, kUnit), kUnit); }
};
using Hour = Clock<kHour, kMicrosOfDay>;
using Minute = Clock<kMinute, kHour>;
using Second = Clock<kMicros, kMinute>;

template <class Out, Out (*kValue)(std::int64_t)>
bool mapTimes(LaneCall& call) {
    const auto* const in = call.args.back().as<std::int64_t>();
    for (std::int64_t i = 0; i < call.n; ++i) {
        call.to<Out>()[i] = kValue(in[i]);
    }
    return true;
}

template <class Part>
bool differences(LaneCall& call) {
    const auto* const from = call.args[1].as<std::int64_t>();
    const auto* const to = call.args[2].as<std::int64_t>();
    const std::int64_t stepFrom = call.args[1].isConstant ? 0 : 1;
    const std::int64_t stepTo = call.args[2].isConstant ? 0 : 1;
    for (std::int64_t i = 0; i < call.n; ++i) {
        call.to<std::int64_t>()[i] = Part::count(to[i * stepTo]) - Part::count(from[i * stepFrom]);
    }
    return true;
}

struct PartKernels {
    std::string_view name;
    bool (*number)(LaneCall&);
    bool (*begin)(LaneCall&);       ///< null: no start of such a part
    bool (*difference)(LaneCall&);  ///< null: not for date_diff
};

template <class Part>
constexpr PartKernels whole(std::string_view name) {
    return {name, mapTimes<std::int64_t, Part::number>, mapTimes<std::int64_t, Part::begin>,
            differences<Part>};
}

template <class Part>
constexpr PartKernels numbered(std::string_view name) {
    return {name, mapTimes<std::int64_t, Part::number>, nullptr, nullptr};
}

constexpr PartKernels kParts[] = {whole<Year>("year"),
                                  whole<Quarter>("quarter"),
                                  whole<Month>("month"),
                                  whole<Week>("week"),
                                  whole<Day>("day"),
                                  numbered<DayOfYear>("dayofyear"),
                                  numbered<DayOfWeek>("dayofweek"),
                                  numbered<IsoDayOfWeek>("isodow"),
                                  whole<Hour>("hour"),
                                  whole<Minute>("minute"),
                                  whole<Second>("second")};

LaneKernel ofPart(std::string_view name, bool (*PartKernels::*kernel)(LaneCall&)) {
    for (const PartKernels& part : kParts) {
        if (part.name == name) {
            return {part.*kernel, true, 3};
        }
    }
    return {};
}

/// Local time in the zone: unique for every instant, even when clocks are set back.
bool localTimes(LaneCall& call) {
    const TimeZone* const zone = call.node.children[0]->zone.get();
    if (zone == nullptr) {
        call.error = "timezone(): the zone's rules were not loaded";
        return false;
    }
    const auto* const in = call.args[1].as<std::int64_t>();
    TimeZone::Stretch stretch;  // neighbours are mostly in the same stretch
    for (std::int64_t i = 0; i < call.n; ++i) {
        const std::int64_t seconds = floorUnits(in[i], kMicros);
        if (seconds < stretch.begin || seconds >= stretch.end) {
            stretch = zone->at(seconds);
        }
        if (__builtin_add_overflow(in[i], stretch.offset * kMicros, call.to<std::int64_t>() + i) &&
            call.isKnown(i)) {
            call.error = "timezone(): a time beyond the years of a timestamp";
            return false;
        }
    }
    return true;
}

std::int64_t itself(std::int64_t us) {
    return us;
}

std::int64_t milliseconds(std::int64_t us) {
    return floorUnits(us, 1000);
}

double seconds(std::int64_t us) {
    return static_cast<double>(us) / 1e6;
}

}  // namespace

LaneKernel findLaneTime(const ExprNode& node) {
    constexpr auto kNumber = &PartKernels::number;
    switch (node.function->id) {
        case F::kYear:
            return ofPart("year", kNumber);
        case F::kMonth:
            return ofPart("month", kNumber);
        case F::kDay:
            return ofPart("day", kNumber);
        case F::kHour:
            return ofPart("hour", kNumber);
        case F::kMinute:
            return ofPart("minute", kNumber);
        case F::kSecond:
            return ofPart("second", kNumber);
        case F::kQuarter:
            return ofPart("quarter", kNumber);
        case F::kWeek:
            return ofPart("week", kNumber);
        case F::kDayOfYear:
            return ofPart("dayofyear", kNumber);
        case F::kDayOfWeek:
            return ofPart("dayofweek", kNumber);
        case F::kIsoDayOfWeek:
            return ofPart("isodow", kNumber);
        case F::kDatePart:
            return ofPart(textArgument(node, 0), kNumber);
        case F::kDateTrunc:
            return ofPart(textArgument(node, 0), &PartKernels::begin);
        case F::kDateDiff:
            return ofPart(textArgument(node, 0), &PartKernels::difference);
        case F::kEpoch:
            return {mapTimes<double, seconds>};
        case F::kEpochMs:
            return {mapTimes<std::int64_t, milliseconds>};
        case F::kEpochUs:
        case F::kMakeTimestamp:
            return {mapTimes<std::int64_t, itself>};
        case F::kTimeZone:
            return {localTimes, true, 3};
        default:
            return {};
    }
}

}  // namespace millrace::eval

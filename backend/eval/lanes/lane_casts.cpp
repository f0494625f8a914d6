// Cast kernels between numbers, bools, dates and times. casts.cpp has those of texts and decimals.
#include <limits>
#include <type_traits>

#include "backend/eval/lanes/lane_kernels.h"
#include "backend/eval/number_casts.h"

namespace millrace::eval {
namespace {

using expr::ExprNode;

template <class From, class To>
constexpr bool kAlwaysFits =
    std::is_same_v<From, bool> || std::is_same_v<To, bool> ||
    (std::is_integral_v<From> && std::is_floating_point_v<To>) ||
    (std::is_same_v<From, float> && std::is_same_v<To, double>) ||
    (std::is_integral_v<From> && std::is_integral_v<To> &&
     std::numeric_limits<From>::digits <= std::numeric_limits<To>::digits &&
     (std::is_unsigned_v<From> || std::is_signed_v<To>));

template <class From, class To>
bool castLane(LaneCall& call) {
    const auto* const in = call.args[0].as<Stored<From>>();
    auto* const out = call.to<Stored<To>>();
    if constexpr (kAlwaysFits<From, To>) {
        eachRow(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW {
            if constexpr (std::is_same_v<To, bool>) {
                out[i] = static_cast<std::uint8_t>(in[i] != 0);
            } else {
                out[i] = static_cast<Stored<To>>(in[i]);
            }
        });
        return true;
    } else {
        const bool isTry = call.node.op == expr::ExprOp::kTryCast;
        for (std::int64_t i = 0; i < call.n; ++i) {
            if (convertNumber(in[i], out[i])) {
                continue;
            }
            out[i] = 0;
            if (isTry) {
                call.writableNulls()[i] = 0;
            } else if (call.isKnown(i)) {
                return false;
            }
        }
        return true;
    }
}

template <class From, class To>
LaneKernel castKernel() {
    constexpr bool isCheap = std::is_same_v<To, bool> || std::is_same_v<To, double>;
    return {castLane<From, To>, true, isCheap ? 1 : 2};
}

/// Midnight of each day, if microseconds can express it. Other days, such as the infinity of DuckDB
/// and Postgres, compare as the first or last timestamp and become null in try_cast. In a cast they
/// fail, and Arrow makes the message.
bool timesOfDates(LaneCall& call) {
    constexpr std::int64_t kDay = 86'400'000'000;
    constexpr auto kLast =
        static_cast<std::int32_t>(std::numeric_limits<std::int64_t>::max() / kDay);
    const auto* const in = call.args[0].as<std::int32_t>();
    auto* const out = call.to<std::int64_t>();
    const bool isBeyond = anyRow<bool>(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW {
        const std::int32_t day = in[i];
        out[i] = std::int64_t{day} * kDay;
        return static_cast<bool>(static_cast<int>(day > kLast) | static_cast<int>(day < -kLast));
    });
    for (std::int64_t i = 0; isBeyond && i < call.n; ++i) {
        if (!call.isKnown(i) || (in[i] <= kLast && in[i] >= -kLast)) {
            continue;
        }
        if (call.node.op == expr::ExprOp::kTryCast) {
            out[i] = 0;
            call.writableNulls()[i] = 0;
        } else if (call.node.isImplicit) {
            out[i] = in[i] > 0 ? std::numeric_limits<std::int64_t>::max()
                               : std::numeric_limits<std::int64_t>::min();
        } else {
            return false;
        }
    }
    return true;
}

bool isNumeric(const expr::DataType& type) {
    return type.isInteger() || type.isFloat() || type.isBool();
}

}  // namespace

LaneKernel findLaneCast(const ExprNode& node) {
    const expr::DataType& from = node.children[0]->type;
    if (!from.isList && !node.type.isList && from.kind == expr::TypeKind::kDate &&
        node.type.kind == expr::TypeKind::kTimestamp) {
        return {timesOfDates};
    }
    if (!isNumeric(from) || !isNumeric(node.type)) {
        return {};
    }
    const Lane to = laneOf(node.type);
    if (to == Lane::kOther) {
        return {};
    }
    return visitLane(laneOf(from), [to]<class From>(std::type_identity<From>) {
        return visitLane(to,
                         []<class To>(std::type_identity<To>) { return castKernel<From, To>(); });
    });
}

}  // namespace millrace::eval

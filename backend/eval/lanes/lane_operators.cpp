// Kernels of operators: arithmetic, comparisons, `in`, not, is null.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "backend/eval/lanes/lane_kernels.h"

namespace millrace::eval {
namespace {

using expr::ExprNode;
using expr::ExprOp;

template <class T>
using Unsigned = std::make_unsigned_t<T>;

struct Add {
    template <class T>
    MILLRACE_ROW T operator()(T x, T y) const {
        return x + y;
    }
};
struct Subtract {
    template <class T>
    MILLRACE_ROW T operator()(T x, T y) const {
        return x - y;
    }
};
struct Multiply {
    template <class T>
    MILLRACE_ROW T operator()(T x, T y) const {
        return x * y;
    }
};

template <class T, class Op>
bool floatArithmetic(LaneCall& call) {
    zipLanes<T, T>(call, Op());
    return true;
}

struct CheckedAdd {
    template <class T>
    MILLRACE_ROW bool operator()(T x, T y, T* out) const {
        return __builtin_add_overflow(x, y, out);
    }
};
struct CheckedSubtract {
    template <class T>
    MILLRACE_ROW bool operator()(T x, T y, T* out) const {
        return __builtin_sub_overflow(x, y, out);
    }
};
struct CheckedMultiply {
    template <class T>
    MILLRACE_ROW bool operator()(T x, T y, T* out) const {
        return __builtin_mul_overflow(x, y, out);
    }
};

/// Overflows under nulls are ignored.
template <class T, class Op>
bool intArithmetic(LaneCall& call) {
    const T* const a = call.args[0].as<T>();
    const T* const b = call.args[1].as<T>();
    const std::int64_t stepA = call.args[0].isConstant ? 0 : 1;
    const std::int64_t stepB = call.args[1].isConstant ? 0 : 1;
    T* const out = call.to<T>();
    const bool isAny = anyRow<bool>(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW {
        return Op()(a[i * stepA], b[i * stepB], out + i);
    });
    if (!isAny) {
        return true;
    }
    for (std::int64_t i = 0; i < call.n; ++i) {
        T ignored{};
        if (call.isKnown(i) && Op()(a[i * stepA], b[i * stepB], &ignored)) {
            return false;
        }
    }
    return true;
}

template <class T>
bool negate(LaneCall& call) {
    if constexpr (std::is_floating_point_v<T>) {
        mapLane<T, T>(call, [](T x) MILLRACE_ROW { return -x; });
    } else {
        const T* const a = call.args[0].as<T>();
        for (std::int64_t i = 0; i < call.n; ++i) {
            if (a[i] == std::numeric_limits<T>::min() && call.isKnown(i)) {
                return false;
            }
            call.to<T>()[i] = static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a[i]));
        }
    }
    return true;
}

/// Sets null where the divisor is 0.
template <class T>
void dropZeroDivisors(LaneCall& call) {
    const T* const b = call.args[1].as<T>();
    if (call.args[1].isConstant) {
        if (*b == 0) {
            std::memset(call.writableNulls(), 0, static_cast<std::size_t>(call.n));
        }
        return;
    }
    const bool isAny =
        anyRow<bool>(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW { return b[i] == 0; });
    if (isAny) {
        std::uint8_t* const valid = call.writableNulls();
        eachRow(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW {
            valid[i] = static_cast<std::uint8_t>(valid[i] & static_cast<std::uint8_t>(b[i] != 0));
        });
    }
}

template <class T>
bool floatDivide(LaneCall& call) {
    zipLanes<T, T>(call, [](T x, T y) MILLRACE_ROW { return x / y; });
    dropZeroDivisors<T>(call);
    return true;
}

/// If both are whole and below 2^53, the integer remainder is the same and much faster.
double remainder(double x, double y) {
    constexpr double kExact = 0x1p53;
    if (std::fabs(x) < kExact && std::fabs(y) < kExact && y != 0) {
        const auto whole = static_cast<std::int64_t>(x), divisor = static_cast<std::int64_t>(y);
        if (static_cast<double>(whole) == x && static_cast<double>(divisor) == y) {
            return std::copysign(static_cast<double>(whole % divisor), x);
        }
    }
    return std::fmod(x, y);
}

template <class T>
bool floatModulo(LaneCall& call) {
    const T* const a = call.args[0].as<T>();
    const T* const b = call.args[1].as<T>();
    const std::int64_t stepA = call.args[0].isConstant ? 0 : 1;
    const std::int64_t stepB = call.args[1].isConstant ? 0 : 1;
    for (std::int64_t i = 0; i < call.n; ++i) {
        call.to<T>()[i] = static_cast<T>(remainder(a[i * stepA], b[i * stepB]));
    }
    dropZeroDivisors<T>(call);
    return true;
}

/// min % -1 overflows because min / -1 does, like in DuckDB.
template <class T, bool kIsModulo>
bool intDivide(LaneCall& call) {
    const T* const a = call.args[0].as<T>();
    const T* const b = call.args[1].as<T>();
    const std::int64_t stepA = call.args[0].isConstant ? 0 : 1;
    const std::int64_t stepB = call.args[1].isConstant ? 0 : 1;
    T* const out = call.to<T>();
    for (std::int64_t i = 0; i < call.n; ++i) {
        const T x = a[i * stepA], y = b[i * stepB];
        if (y == 0 || y == -1) {
            if (y == -1 && x == std::numeric_limits<T>::min() && call.isKnown(i)) {
                return false;
            }
            const auto negative = static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x));
            out[i] = y == 0 || kIsModulo ? 0 : negative;
        } else {
            out[i] = kIsModulo ? x % y : x / y;
        }
    }
    dropZeroDivisors<T>(call);
    return true;
}

template <class T>
LaneKernel floatArithmeticOf(ExprOp op) {
    switch (op) {
        case ExprOp::kNegate:
            return {negate<T>};
        case ExprOp::kAdd:
            return {floatArithmetic<T, Add>};
        case ExprOp::kSubtract:
            return {floatArithmetic<T, Subtract>};
        case ExprOp::kMultiply:
            return {floatArithmetic<T, Multiply>};
        case ExprOp::kDivide:
            return {floatDivide<T>};
        case ExprOp::kModulo:
            return {floatModulo<T>, true, 8};
        default:
            return {};
    }
}

template <class T>
LaneKernel intArithmeticOf(ExprOp op) {
    switch (op) {
        case ExprOp::kNegate:
            return {negate<T>};
        case ExprOp::kAdd:
            return {intArithmetic<T, CheckedAdd>};
        case ExprOp::kSubtract:
            return {intArithmetic<T, CheckedSubtract>};
        case ExprOp::kMultiply:
            return {intArithmetic<T, CheckedMultiply>};
        case ExprOp::kIntDivide:
            return {intDivide<T, false>, true, 4};
        case ExprOp::kModulo:
            return {intDivide<T, true>, true, 4};
        default:
            return {};
    }
}

// NaN equals NaN and is larger than every number, as in DuckDB.

template <class T>
MILLRACE_ROW inline bool isNan(T x) {
    return x != x;
}

template <class T>
MILLRACE_ROW inline bool equals(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
        return static_cast<bool>(static_cast<int>(x == y) |
                                 (static_cast<int>(isNan(x)) & static_cast<int>(isNan(y))));
    } else {
        return x == y;
    }
}

template <class T>
MILLRACE_ROW inline bool isLess(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
        return static_cast<bool>(static_cast<int>(x < y) |
                                 (static_cast<int>(!isNan(x)) & static_cast<int>(isNan(y))));
    } else {
        return x < y;
    }
}

template <ExprOp kOp, class T>
MILLRACE_ROW inline std::uint8_t compared(T x, T y) {
    switch (kOp) {
        case ExprOp::kEqual:
            return static_cast<std::uint8_t>(equals(x, y));
        case ExprOp::kNotEqual:
            return static_cast<std::uint8_t>(!equals(x, y));
        case ExprOp::kLess:
            return static_cast<std::uint8_t>(isLess(x, y));
        case ExprOp::kLessEqual:
            return static_cast<std::uint8_t>(!isLess(y, x));
        case ExprOp::kGreater:
            return static_cast<std::uint8_t>(isLess(y, x));
        default:
            return static_cast<std::uint8_t>(!isLess(x, y));
    }
}

template <class T, ExprOp kOp>
bool compare(LaneCall& call) {
    zipLanes<T, std::uint8_t>(call, [](T x, T y) MILLRACE_ROW { return compared<kOp>(x, y); });
    return true;
}

/// Constant candidates that are too many for one comparison each.
template <class T>
struct SortedSet {
    std::vector<T> values;
    bool hasNull = false;
};

constexpr std::size_t kFewCandidates = 24;

template <class T>
std::shared_ptr<const void> prepareIn(std::span<const Values> args) {
    auto set = std::make_shared<SortedSet<T>>();
    for (const Values& candidate : args.subspan(1)) {
        if (!candidate.isConstant) {
            return nullptr;
        }
        if (candidate.isNull) {
            set->hasNull = true;
        } else {
            set->values.push_back(*candidate.as<T>());
        }
    }
    if (set->values.size() <= kFewCandidates) {
        return nullptr;
    }
    std::ranges::sort(set->values, isLess<T>);
    return set;
}

/// Whether the value is in the set; null if it is not and the set has a null.
template <class T>
void inSorted(LaneCall& call, const SortedSet<T>& set) {
    const Values& value = call.args[0];
    const T* const x = value.as<T>();
    call.hasNulls = set.hasNull || value.valid != nullptr;
    for (std::int64_t i = 0; i < call.n; ++i) {
        const auto at = std::lower_bound(set.values.begin(), set.values.end(), x[i], isLess<T>);
        const bool isFound = at != set.values.end() && equals(*at, x[i]);
        const bool isKnown = value.valid == nullptr || value.valid[i] != 0;
        call.to<std::uint8_t>()[i] = isFound ? 1 : 0;
        call.valid[i] = isKnown && (isFound || !set.hasNull) ? 1 : 0;
    }
}

/// Null if no candidate is equal and one is null, or if the value is null.
template <class T>
bool in(LaneCall& call) {
    const Values& value = call.args[0];
    if (call.prepared != nullptr && !value.isConstant) {
        inSorted(call, *static_cast<const SortedSet<T>*>(call.prepared));
        return true;
    }
    const T* const x = value.as<T>();
    const std::int64_t step = value.isConstant ? 0 : 1;
    std::uint8_t* const found = call.to<std::uint8_t>();
    std::uint8_t* const open = call.valid;  // rows with a null among the candidates
    const auto n = static_cast<std::size_t>(call.n);
    std::memset(found, 0, n);
    std::memset(open, value.isAllNull() ? 1 : 0, n);
    call.hasNulls = value.isAllNull() || value.valid != nullptr;
    for (const Values& candidate : call.args.subspan(1)) {
        if (candidate.isAllNull()) {
            std::memset(open, 1, n);
            call.hasNulls = true;
        } else if (value.isAllNull()) {
            continue;
        } else if (candidate.isConstant) {
            const T y = *candidate.as<T>();
            eachRow(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW {
                found[i] = static_cast<std::uint8_t>(
                    found[i] | static_cast<std::uint8_t>(equals(x[i * step], y)));
            });
        } else {
            const T* const y = candidate.as<T>();
            const std::uint8_t* const valid = candidate.valid;
            call.hasNulls |= valid != nullptr;
            for (std::int64_t i = 0; i < call.n; ++i) {
                const bool isKnown = valid == nullptr || valid[i] != 0;
                found[i] |= isKnown && equals(x[i * step], y[i]) ? 1 : 0;
                open[i] |= isKnown ? 0 : 1;
            }
        }
    }
    const std::uint8_t* const known = value.valid;
    for (std::int64_t i = 0; call.hasNulls && i < call.n; ++i) {
        const bool isKnown = known == nullptr || known[i] != 0;
        open[i] = isKnown && !value.isAllNull() && (found[i] != 0 || open[i] == 0) ? 1 : 0;
    }
    return true;
}

template <class T>
LaneKernel comparisonOf(const ExprNode& node) {
    switch (node.op) {
        case ExprOp::kEqual:
            return {compare<T, ExprOp::kEqual>};
        case ExprOp::kNotEqual:
            return {compare<T, ExprOp::kNotEqual>};
        case ExprOp::kLess:
            return {compare<T, ExprOp::kLess>};
        case ExprOp::kLessEqual:
            return {compare<T, ExprOp::kLessEqual>};
        case ExprOp::kGreater:
            return {compare<T, ExprOp::kGreater>};
        case ExprOp::kGreaterEqual:
            return {compare<T, ExprOp::kGreaterEqual>};
        case ExprOp::kIn:
            return {in<T>, false, 4, prepareIn<T>};
        default:
            return {};
    }
}

bool invert(LaneCall& call) {
    mapLane<std::uint8_t, std::uint8_t>(
        call, [](std::uint8_t x) MILLRACE_ROW { return static_cast<std::uint8_t>(x ^ 1); });
    return true;
}

}  // namespace

LaneKernel findArithmetic(const ExprNode& node) {
    if (node.op == ExprOp::kNot) {
        return {invert};
    }
    switch (laneOf(node.type)) {
        case Lane::kInt32:
            return intArithmeticOf<std::int32_t>(node.op);
        case Lane::kInt64:
            return intArithmeticOf<std::int64_t>(node.op);
        case Lane::kFloat:
            return floatArithmeticOf<float>(node.op);
        case Lane::kDouble:
            return floatArithmeticOf<double>(node.op);
        default:
            return {};
    }
}

LaneKernel findComparison(const ExprNode& node) {
    const Lane lane = laneOf(node.children[0]->type);
    if (lane == Lane::kOther) {
        return {};
    }
    return visitLane(
        lane, [&node]<class T>(std::type_identity<T>) { return comparisonOf<Stored<T>>(node); });
}

std::uint8_t* LaneCall::writableNulls() {
    if (!hasNulls) {
        std::memset(valid, 1, static_cast<std::size_t>(n));
        hasNulls = true;
    }
    return valid;
}

LaneKernel findLaneKernel(const ExprNode& node) {
    switch (node.op) {
        case ExprOp::kNegate:
        case ExprOp::kAdd:
        case ExprOp::kSubtract:
        case ExprOp::kMultiply:
        case ExprOp::kDivide:
        case ExprOp::kIntDivide:
        case ExprOp::kModulo:
        case ExprOp::kNot:
            return findArithmetic(node);
        case ExprOp::kEqual:
        case ExprOp::kNotEqual:
        case ExprOp::kLess:
        case ExprOp::kLessEqual:
        case ExprOp::kGreater:
        case ExprOp::kGreaterEqual:
        case ExprOp::kIn:
            return findComparison(node);
        case ExprOp::kCast:
        case ExprOp::kTryCast:
            return findLaneCast(node);
        case ExprOp::kCall: {
            const LaneKernel time = findLaneTime(node);
            return time.run != nullptr ? time : findLaneFunction(node);
        }
        default:
            return {};
    }
}

}  // namespace millrace::eval

// Kernels of functions of numbers.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backend/elementary/elementary.h"
#include "backend/eval/lanes/lane_kernels.h"

namespace millrace::eval {
namespace {

using elementary::Elementary;
using expr::ExprNode;
using F = expr::FunctionId;

template <Elementary kFunction>
bool elementaryLane(LaneCall& call) {
    elementary::evalElementary(kFunction, call.args[0].as<double>(), call.to<double>(), call.n);
    return true;
}

bool powLane(LaneCall& call) {
    constexpr std::int64_t kBlock = 512;
    double x[kBlock], y[kBlock];
    for (std::int64_t begin = 0; begin < call.n; begin += kBlock) {
        const std::int64_t count = std::min(kBlock, call.n - begin);
        const double *base = nullptr, *power = nullptr;
        for (const auto& [values, block, at] :
             {std::tuple{&call.args[0], x, &base}, std::tuple{&call.args[1], y, &power}}) {
            if (values->isConstant) {
                std::fill(block, block + count, *values->as<double>());
                *at = block;
            } else {
                *at = values->as<double>() + begin;
            }
        }
        elementary::evalPow(base, power, call.to<double>() + begin, count);
    }
    return true;
}

bool squareRootLane(LaneCall& call) {
    mapLane<double, double>(call, [](double x) MILLRACE_ROW { return std::sqrt(x); });
    return true;
}

template <class T>
bool floorLane(LaneCall& call) {
    mapLane<T, T>(call, [](T x) MILLRACE_ROW { return std::floor(x); });
    return true;
}

template <class T>
bool ceilLane(LaneCall& call) {
    mapLane<T, T>(call, [](T x) MILLRACE_ROW { return std::ceil(x); });
    return true;
}

template <class T>
bool absLane(LaneCall& call) {
    if constexpr (std::is_floating_point_v<T>) {
        mapLane<T, T>(call, [](T x) MILLRACE_ROW { return std::fabs(x); });
    } else {
        const T* const in = call.args[0].as<T>();
        for (std::int64_t i = 0; i < call.n; ++i) {
            if (in[i] == std::numeric_limits<T>::min() && call.isKnown(i)) {
                return false;
            }
            using Word = std::make_unsigned_t<T>;
            call.to<T>()[i] =
                in[i] < 0 ? static_cast<T>(Word{0} - static_cast<Word>(in[i])) : in[i];
        }
    }
    return true;
}

template <class T>
bool isNanLane(LaneCall& call) {
    mapLane<T, std::uint8_t>(call,
                             [](T x) MILLRACE_ROW { return static_cast<std::uint8_t>(x != x); });
    return true;
}

template <class T>
bool isFiniteLane(LaneCall& call) {
    mapLane<T, std::uint8_t>(call, [](T x) MILLRACE_ROW {
        return static_cast<std::uint8_t>(std::fabs(x) <= std::numeric_limits<T>::max());
    });
    return true;
}

/// NaN is the largest; of equal values (0 and -0) the first wins.
template <class T, bool kIsLeast>
MILLRACE_ROW inline T better(T best, T x) {
    if constexpr (!std::is_floating_point_v<T>) {
        return kIsLeast ? (x < best ? x : best) : (x > best ? x : best);
    } else if constexpr (kIsLeast) {
        const T least = x < best ? x : best;
        return best != best ? x : least;
    } else {
        const T most = x > best ? x : best;
        return x != x ? x : most;
    }
}

/// The best value so far of least() and greatest(), and the rows that have one.
template <class T>
struct Best {
    LaneCall& call;
    bool isFirst = true;

    template <bool kIsLeast>
    void add(const Values& argument) {
        T* const out = call.to<T>();
        std::uint8_t* const known = call.valid;
        const T* const x = argument.as<T>();
        const std::int64_t step = argument.isConstant ? 0 : 1;
        const std::uint8_t* const valid = argument.valid;
        if (isFirst) {
            eachRow(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW { out[i] = x[i * step]; });
            if (valid != nullptr) {
                std::memcpy(known, valid, static_cast<std::size_t>(call.n));
            } else {
                std::memset(known, 1, static_cast<std::size_t>(call.n));
            }
            call.hasNulls = valid != nullptr;
            isFirst = false;
        } else if (valid == nullptr && !call.hasNulls) {
            eachRow(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW {
                out[i] = better<T, kIsLeast>(out[i], x[i * step]);
            });
        } else {
            addSome<kIsLeast>(x, step, valid);
        }
    }

    template <bool kIsLeast>
    void addSome(const T* x, std::int64_t step, const std::uint8_t* valid) {
        T* const out = call.to<T>();
        std::uint8_t* const known = call.valid;
        const bool hasNulls = valid != nullptr;
        eachRow(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW {
            const T best = better<T, kIsLeast>(out[i], x[i * step]);
            const T filled = known[i] != 0 ? best : x[i * step];
            const std::uint8_t is = hasNulls ? valid[i] : 1;
            out[i] = is != 0 ? filled : out[i];
            known[i] = static_cast<std::uint8_t>(known[i] | is);
        });
        call.hasNulls = call.hasNulls && hasNulls;
    }
};

/// Skips nulls; null if all are null. Literals come first, so they win between 0 and -0.
template <class T, bool kIsLeast>
bool extremeLane(LaneCall& call) {
    std::memset(call.valid, 0, static_cast<std::size_t>(call.n));
    call.hasNulls = true;
    Best<T> best{call};
    for (const bool isLiteral : {true, false}) {
        for (std::size_t i = 0; i < call.args.size(); ++i) {
            const bool isThis = call.node.children[i]->op == expr::ExprOp::kLiteral;
            if (isThis == isLiteral && !call.args[i].isAllNull()) {
                best.template add<kIsLeast>(call.args[i]);
            }
        }
    }
    return true;
}

template <class T>
LaneKernel ofNumber(F id) {
    constexpr bool kIsFloat = std::is_floating_point_v<T>;
    switch (id) {
        case F::kAbs:
            return {absLane<T>};
        case F::kLeast:
            return {extremeLane<T, true>, false, 2};
        case F::kGreatest:
            return {extremeLane<T, false>, false, 2};
        case F::kFloor:
            if constexpr (kIsFloat) {
                return {floorLane<T>};
            }
            return {};
        case F::kCeil:
            if constexpr (kIsFloat) {
                return {ceilLane<T>};
            }
            return {};
        case F::kIsNan:
            if constexpr (kIsFloat) {
                return {isNanLane<T>};
            }
            return {};
        case F::kIsFinite:
            if constexpr (kIsFloat) {
                return {isFiniteLane<T>};
            }
            return {};
        default:
            return {};
    }
}

}  // namespace

LaneKernel findLaneFunction(const ExprNode& node) {
    const F id = node.function->id;
    switch (id) {
        case F::kLn:
            return {elementaryLane<Elementary::kLn>, true, 5};
        case F::kLog1p:
            return {elementaryLane<Elementary::kLog1p>, true, 6};
        case F::kLog2:
            return {elementaryLane<Elementary::kLog2>, true, 5};
        case F::kLog10:
            return {elementaryLane<Elementary::kLog10>, true, 5};
        case F::kExp:
            return {elementaryLane<Elementary::kExp>, true, 3};
        case F::kPow:
            return {powLane, true, 15};
        case F::kSqrt:
            return {squareRootLane, true, 2};
        default:
            break;
    }
    const bool hasNumber = !node.children.empty();
    switch (hasNumber ? laneOf(node.children[0]->type) : Lane::kOther) {
        case Lane::kInt32:
            return node.children[0]->type.isInteger() ? ofNumber<std::int32_t>(id) : LaneKernel();
        case Lane::kInt64:
            return node.children[0]->type.isInteger() ? ofNumber<std::int64_t>(id) : LaneKernel();
        case Lane::kFloat:
            return ofNumber<float>(id);
        case Lane::kDouble:
            return ofNumber<double>(id);
        default:
            return {};
    }
}

}  // namespace millrace::eval

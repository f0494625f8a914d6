#pragma once
// The evaluator's own kernels: typed loops over lanes, found once per node of a program.
//
// Arrow evaluates nodes without a kernel here (arrow_operations.h), and repeats calls that fail, so
// that errors always have Arrow's message. Private to eval. Threads: pure.
#include <cstdint>
#include <memory>
#include <span>

#include "backend/eval/lanes/lanes.h"
#include "backend/expr/expression.h"

namespace millrace::eval {

struct LaneCall {
    const expr::ExprNode& node;
    std::span<const Values> args;  ///< at least one is not constant; for strict kernels none is a
                                   ///< null constant
    std::int64_t n = 0;
    void* out = nullptr;  ///< `n` values of the node's lane
    /// `n` bytes. A strict kernel finds 0 for null arguments and may set more zeros; any other
    /// kernel writes all bytes.
    std::uint8_t* valid = nullptr;
    bool hasNulls = false;  ///< whether `valid` is used; for strict kernels also set before the
                            ///< call
    Isa isa = Isa::kPlain;
    const char* error = nullptr;     ///< message of a kernel that failed; null: Arrow makes it
    const void* prepared = nullptr;  ///< result of LaneKernel::prepare

    template <class T>
    T* to() const {
        return static_cast<T*>(out);
    }
    /// Bytes of `valid`, for kernels that add nulls.
    std::uint8_t* writableNulls();
    bool isKnown(std::int64_t i) const { return !hasNulls || valid[i] != 0; }
};

struct LaneKernel {
    /// Returns false if any row fails; Arrow makes the message then.
    bool (*run)(LaneCall& call) = nullptr;
    bool isStrict = true;  ///< null if any argument is, and evaluated only for other rows
    int cost = 1;          ///< approximate ns per value
    /// Unless null: called once per node, to prepare from the constant arguments (it must ignore
    /// others). Returns null if there is nothing to prepare.
    std::shared_ptr<const void> (*prepare)(std::span<const Values> args) = nullptr;
};

/// The kernel of a node with typed children; run == nullptr: Arrow evaluates it.
LaneKernel findLaneKernel(const expr::ExprNode& node);

// The families of kernels that findLaneKernel() searches.
LaneKernel findArithmetic(const expr::ExprNode& node);
LaneKernel findComparison(const expr::ExprNode& node);
LaneKernel findLaneCast(const expr::ExprNode& node);
LaneKernel findLaneFunction(const expr::ExprNode& node);
LaneKernel findLaneTime(const expr::ExprNode& node);

/// Applies f(x, y) to each row; one of the arguments may be a constant.
template <class T, class Out, class F>
void zipLanes(const LaneCall& call, F f) {
    const T* const a = call.args[0].as<T>();
    const T* const b = call.args[1].as<T>();
    Out* const out = call.to<Out>();
    if (call.args[1].isConstant) {
        const T y = *b;
        eachRow(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW { out[i] = f(a[i], y); });
    } else if (call.args[0].isConstant) {
        const T x = *a;
        eachRow(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW { out[i] = f(x, b[i]); });
    } else {
        eachRow(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW { out[i] = f(a[i], b[i]); });
    }
}

template <class T, class Out, class F>
void mapLane(const LaneCall& call, F f) {
    const T* const a = call.args[0].as<T>();
    Out* const out = call.to<Out>();
    eachRow(call.isa, call.n, [=](std::int64_t i) MILLRACE_ROW { out[i] = f(a[i]); });
}

}  // namespace millrace::eval

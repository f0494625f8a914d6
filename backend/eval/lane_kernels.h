#pragma once
// The evaluator's own kernels: typed loops over lanes, found once for each node of a program.
//
// What has none here is Arrow's to evaluate (arrow_operations.h), and so is what fails: Arrow's
// sentence is the one that is told. Private to the room. Threads: pure.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/eval/lanes.h"
#include "backend/expr/expression.h"

namespace millrace::eval {

struct LaneCall {
    const expr::ExprNode& node;
    std::span<const Values> args;  ///< at least one is not constant; of strict kernels none is null
    std::int64_t n = 0;
    void* out = nullptr;  ///< `n` values of the node's lane
    /// `n` bytes. A strict kernel finds 0 where an argument is null and may add to them; another
    /// one writes all of them.
    std::uint8_t* valid = nullptr;
    bool hasNulls = false;  ///< whether `valid` counts; of strict kernels before the call too
    Isa isa = Isa::kPlain;
    const char* error = nullptr;     ///< of a kernel that fails: the sentence; null: Arrow has it
    const void* prepared = nullptr;  ///< what LaneKernel::prepare made

    template <class T>
    T* to() const {
        return static_cast<T*>(out);
    }
    /// Bytes of the rows that count, for kernels that add nulls.
    std::uint8_t* writableNulls();
    bool isKnown(std::int64_t i) const { return !hasNulls || valid[i] != 0; }
};

struct LaneKernel {
    /// False: some row fails; Arrow will say how.
    bool (*run)(LaneCall& call) = nullptr;
    bool isStrict = true;  ///< null where an argument is, and evaluated for the others
    int cost = 1;          ///< about ns a value
    /// Where not null: made once for a node, of those arguments that are constants (others are not
    /// to be looked at); null when there is nothing to prepare.
    std::shared_ptr<const void> (*prepare)(std::span<const Values> args) = nullptr;
};

/// The kernel of a node whose children are typed; run == nullptr: Arrow's.
LaneKernel findLaneKernel(const expr::ExprNode& node);

// The families that it is put together from.
LaneKernel findArithmetic(const expr::ExprNode& node);
LaneKernel findComparison(const expr::ExprNode& node);
LaneKernel findLaneCast(const expr::ExprNode& node);
LaneKernel findLaneFunction(const expr::ExprNode& node);
LaneKernel findLaneTime(const expr::ExprNode& node);

/// f(x, y) of each row; one of the arguments may be a constant.
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

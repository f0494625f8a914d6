#pragma once
// Lanes: values of some rows as plain memory, on which the evaluator's own kernels work.
//
// A lane is one physical type: bools as bytes, dates as int32, times as int64. Texts, lists and
// decimals have no lane and stay in Arrow. Private to eval. Threads: values.
#include <cstdint>
#include <memory>
#include <type_traits>

#include <arrow/buffer.h>
#include <arrow/datum.h>

#include "backend/expr/schema.h"

namespace millrace::eval {

enum class Lane : std::uint8_t {
    kBool,  ///< bytes of 0 and 1
    kInt8,
    kInt16,
    kInt32,
    kInt64,
    kUint8,
    kUint16,
    kUint32,
    kUint64,
    kFloat,
    kDouble,
    kOther,  ///< an Arrow array or scalar
};

/// The lane of a type; kOther if it has none.
Lane laneOf(const expr::DataType& type);
/// Bytes per value; 0 for kOther.
std::int64_t laneBytes(Lane lane);

/// Calls `visit` with the type of a lane's values, as std::type_identity; bools are `bool`. The
/// lane is not kOther.
template <class Visit>
auto visitLane(Lane lane, Visit visit) {
    switch (lane) {
        case Lane::kBool:
            return visit(std::type_identity<bool>());
        case Lane::kInt8:
            return visit(std::type_identity<std::int8_t>());
        case Lane::kInt16:
            return visit(std::type_identity<std::int16_t>());
        case Lane::kInt32:
            return visit(std::type_identity<std::int32_t>());
        case Lane::kInt64:
            return visit(std::type_identity<std::int64_t>());
        case Lane::kUint8:
            return visit(std::type_identity<std::uint8_t>());
        case Lane::kUint16:
            return visit(std::type_identity<std::uint16_t>());
        case Lane::kUint32:
            return visit(std::type_identity<std::uint32_t>());
        case Lane::kUint64:
            return visit(std::type_identity<std::uint64_t>());
        case Lane::kFloat:
            return visit(std::type_identity<float>());
        default:
            return visit(std::type_identity<double>());
    }
}

/// How a lane stores values of a type: bools as bytes of 0 and 1.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

/// The values of an expression for some rows, or one value for all of them.
struct Values {
    Lane lane = Lane::kOther;
    bool isConstant = false;
    bool isNull = false;                  ///< a null constant, in any lane
    const void* data = nullptr;           ///< one per row, or one for all; undefined under nulls
    const std::uint8_t* valid = nullptr;  ///< a byte per row: 0 where it is null; null: no nulls
    std::shared_ptr<arrow::Buffer> dataHeld, validHeld;  ///< own `data` and `valid`
    arrow::Datum other;  ///< kOther's value; in a lane: its source array, or a constant's scalar

    template <class T>
    const T* as() const {
        return static_cast<const T*>(data);
    }
    bool isAllNull() const { return isConstant && isNull; }
};

/// Instructions that a loop may use. All give the same bits: operations are never fused.
enum class Isa : std::uint8_t { kPlain, kAvx2 };
/// The widest that this machine supports.
Isa machineIsa();

template <class F>
__attribute__((target("avx2"))) void eachRowAvx2(std::int64_t n, F f) {
    for (std::int64_t i = 0; i < n; ++i) {
        f(i);
    }
}

/// Calls f(i) for each row; `f` is inlined, and vectorised if possible.
template <class F>
void eachRow(Isa isa, std::int64_t n, F f) {
    if (isa == Isa::kAvx2) {
        eachRowAvx2(n, f);
        return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
        f(i);
    }
}

template <class Bits, class F>
__attribute__((target("avx2"))) Bits anyRowAvx2(std::int64_t n, F f) {
    Bits any{};
    for (std::int64_t i = 0; i < n; ++i) {
        any |= f(i);
    }
    return any;
}

/// Returns all f(i) or'ed together.
template <class Bits, class F>
Bits anyRow(Isa isa, std::int64_t n, F f) {
    if (isa == Isa::kAvx2) {
        return anyRowAvx2<Bits>(n, f);
    }
    Bits any{};
    for (std::int64_t i = 0; i < n; ++i) {
        any |= f(i);
    }
    return any;
}

/// Number of ones among `n` bytes of 0 and 1.
std::int64_t countOnes(const std::uint8_t* bytes, std::int64_t n);
/// Converts bits from `offset` on to bytes of 0 and 1, and back (from bit 0 on; pads the last
/// byte).
void bytesOfBits(const std::uint8_t* bits, std::int64_t offset, std::int64_t n, std::uint8_t* out);
void bitsOfBytes(const std::uint8_t* bytes, std::int64_t n, std::uint8_t* out);

}  // namespace millrace::eval

/// Marks a lambda for eachRow and anyRow.
#define MILLRACE_ROW __attribute__((always_inline))

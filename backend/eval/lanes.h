#pragma once
// Values of some rows as plain memory: what the evaluator's own kernels work on.
//
// A lane is one physical type: bools a byte each, dates as int32, times as int64. Texts, lists and
// decimals have no lane; they stay Arrow's. Private to the room. Threads: values.
#include <cstdint>
#include <memory>

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

/// The lane of a type; kOther where it has none.
Lane laneOf(const expr::DataType& type);
/// Bytes a value; 0 of kOther.
std::int64_t laneBytes(Lane lane);

/// The values of an expression for some rows, or one value that stands for all of them.
struct Values {
    Lane lane = Lane::kOther;
    bool isConstant = false;
    bool isNull = false;                  ///< of a constant: it is null, whatever the lane
    const void* data = nullptr;           ///< one a row, or one; under nulls anything
    const std::uint8_t* valid = nullptr;  ///< a byte a row: 0 where it is null; none: nothing is
    std::shared_ptr<arrow::Buffer> dataHeld, validHeld;  ///< own `data` and `valid`
    arrow::Datum other;  ///< kOther; of a lane the array that it was, or a constant's scalar

    template <class T>
    const T* as() const {
        return static_cast<const T*>(data);
    }
    bool isAllNull() const { return isConstant && isNull; }
};

/// What a loop may use. All give the same bits: there are no fused operations.
enum class Isa : std::uint8_t { kPlain, kAvx2 };
/// The widest that this machine has.
Isa machineIsa();

template <class F>
__attribute__((target("avx2"))) void eachRowAvx2(std::int64_t n, F f) {
    for (std::int64_t i = 0; i < n; ++i) {
        f(i);
    }
}

/// f(i) of each row; `f` is inlined, and vectorised where it can be.
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

/// All f(i) or'ed.
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

/// How many of `n` bytes of 0 and 1 are 1.
std::int64_t countOnes(const std::uint8_t* bytes, std::int64_t n);
/// Bits from `offset` on as bytes of 0 and 1, and back (from bit 0 on; the last byte filled up).
void bytesOfBits(const std::uint8_t* bits, std::int64_t offset, std::int64_t n, std::uint8_t* out);
void bitsOfBytes(const std::uint8_t* bytes, std::int64_t n, std::uint8_t* out);

}  // namespace millrace::eval

/// Marks a lambda for eachRow and anyRow.
#define MILLRACE_ROW __attribute__((always_inline))

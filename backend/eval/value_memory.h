#pragma once
// The memory of values while a program runs: reused blocks, conversion between Arrow and lanes, and
// gathering and scattering of rows. Private to eval.
//
// Threads: one. Failure: kResourceExhausted.
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/eval/kernels.h"
#include "backend/eval/lanes/lanes.h"

namespace millrace::eval {

inline constexpr std::uint8_t kBools[] = {0, 1};

/// A null constant.
Values nullOfLane(Lane lane);
/// A scalar as a constant of a lane.
Result<Values> constantOf(Lane lane, const Datum& scalar);

class ValueMemory {
 public:
    explicit ValueMemory(Isa isa) : isa_(isa) {}
    /// Sets the largest number of rows of any values; call it first.
    void setRows(std::int64_t rows) { rows_ = rows; }

    /// An unused block: one byte per row, or eight.
    Result<std::shared_ptr<arrow::Buffer>> block(bool isMask);

    Result<Values> fromDatum(const expr::DataType& type, const Datum& datum, std::int64_t n);
    Result<Values> fromArray(const expr::DataType& type, ArrayPtr array);
    Result<Datum> toDatum(const Values& values, const expr::DataType& type, std::int64_t n);

    /// values[rows]; `rowsArray` has the same rows for Arrow.
    Result<Values> gather(const Values& values, const std::int64_t* rows, const ArrayPtr& rowsArray,
                          std::int64_t n);
    /// `n` values: those at `rows` from `some`, the others undefined.
    Result<Values> scatter(const Values& some, const std::vector<std::int64_t>& rows,
                           std::int64_t n);
    /// Writes the values of `rows` into the result, which owns its memory.
    Status take(Values& result, const Values& from, const std::uint8_t* rows, std::int64_t n);
    /// A byte per row: 1 if it is known and true.
    Status truths(const Values& values, std::int64_t n, std::uint8_t* out);

 private:
    struct Block {
        std::shared_ptr<arrow::Buffer> memory;
        bool isMask = false;
    };
    const Isa isa_;
    std::int64_t rows_ = 0;
    std::vector<Block> blocks_;
};

}  // namespace millrace::eval

#pragma once
// CountedValues: the values of an embedding in the order of their ids, as they were counted in the
// training rows; a file of them, and their hash, by which a resolved spec pins them.
//
// Threads: values. Failure: kDataLoss for a file that does not hold what its hash says.
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/eval/kernels.h"
#include "backend/expr/schema.h"

namespace millrace::recipe {

struct CountedValues {
    eval::ArrayPtr values;  ///< utf8, int64 or uint64, without nulls; the first has id 1
    eval::ArrayPtr counts;  ///< int64: how often each was there

    /// As the type of a column.
    expr::DataType type() const;
    /// XXH3-128 hex of the type and the values; counts are left out.
    std::string hash() const;
    /// Bytes of the values in memory.
    std::int64_t bytes() const;
    /// An Arrow IPC file with the columns `value` and `count`.
    Result<std::string> toFile() const;
    /// `name` is for messages.
    static Result<CountedValues> ofFile(std::string_view file, std::string_view hash,
                                        const std::string& name);
};

}  // namespace millrace::recipe

#pragma once
// CountedValues: the values of an embedding in the order of their ids, as counted in the training
// rows. It can be written to a file; a resolved spec pins it by its hash.
//
// Threads: values. Failure: kDataLoss for a file whose content does not match its hash.
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/eval/kernels.h"
#include "backend/expr/schema.h"

namespace millrace::recipe {

struct CountedValues {
    eval::ArrayPtr
        values;  ///< utf8 (any bytes), int64 or uint64, without nulls; the first has id 1
    eval::ArrayPtr counts;  ///< int64: how often each was there

    /// The values' type, as for a column.
    expr::DataType type() const;
    /// XXH3-128 hex of the type and the values, without the counts.
    std::string hash() const;
    /// Bytes of the values in memory.
    std::int64_t bytes() const;
    /// An Arrow IPC file with the columns `value` and `count`; texts that are not UTF-8 are binary.
    Result<std::string> toFile() const;
    /// `name` is for messages.
    static Result<CountedValues> ofFile(std::string_view file, std::string_view hash,
                                        const std::string& name);
};

}  // namespace millrace::recipe

#pragma once
// The loop of operators and functions over the values of two columns. Private to eval.
// Threads: pure. Failure: kResourceExhausted.
#include <cstdint>

#include <arrow/array/array_base.h>

#include "backend/eval/function_calls.h"

namespace millrace::eval {

/// Makes one output per row: null if either value is null, else what `make(x, y)` appends to the
/// builder. Both arrays are `Array`s of equal length.
template <class Array, class Builder, class Make>
Result<Datum> zipRows(const arrow::Array& a, const arrow::Array& b, Builder& builder, Make make) {
    const auto& left = static_cast<const Array&>(a);
    const auto& right = static_cast<const Array&>(b);
    if (!builder.Reserve(a.length()).ok()) {
        return resourceExhausted("no memory for ", a.length(), " values");
    }
    for (std::int64_t i = 0; i < a.length(); ++i) {
        if (left.IsNull(i) || right.IsNull(i)) {
            builder.UnsafeAppendNull();
        } else {
            make(left.GetView(i), right.GetView(i));
        }
    }
    return finished(builder);
}

}  // namespace millrace::eval

#pragma once
// Helpers of the function files: literal arguments, and the tables of functions and their kernels.
// Private to eval. Threads: pure.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/eval/kernels.h"
#include "backend/expr/expression.h"

namespace millrace::eval {

/// A literal argument; "" or `fallback` if it is omitted.
std::string textArgument(const expr::ExprNode& node, std::size_t i);
std::int64_t intArgument(const expr::ExprNode& node, std::size_t i, std::int64_t fallback);

/// Bytes of the first character of a text that is not empty; works even without valid UTF-8.
std::size_t characterBytes(std::string_view text);

/// Joins the texts of each row: null if any is null, or with `skipsNulls` without the null ones.
Result<Datum> joinTexts(const std::vector<Datum>& texts, std::int64_t rows, bool skipsNulls);

Result<Datum> finished(arrow::ArrayBuilder& builder);

/// Evaluates a call, with evaluated arguments.
using FunctionCall = Result<Datum> (*)(const expr::ExprNode& node, const std::vector<Datum>& c,
                                       std::int64_t rows);
struct FunctionKernel {
    expr::FunctionId id;
    FunctionCall call;
};

/// Functions from texts to texts.
std::span<const FunctionKernel> textKernels();
/// Functions over lists.
std::span<const FunctionKernel> listKernels();

}  // namespace millrace::eval

#pragma once
// What the files of functions share: literal arguments, and the table of what evaluates which
// function. Private to the room. Threads: pure.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/eval/kernels.h"
#include "backend/expr/expression.h"

namespace arrow {
class ArrayBuilder;
}  // namespace arrow

namespace millrace::eval {

/// A literal argument; "" or `fallback` when it is left out.
std::string textArgument(const expr::ExprNode& node, std::size_t i);
std::int64_t intArgument(const expr::ExprNode& node, std::size_t i, std::int64_t fallback);

/// Bytes of the first character of a text that is not empty, were it no UTF-8.
std::size_t characterBytes(std::string_view text);

/// The texts of each row one after the other: null where one is, or without those that are.
Result<Datum> joinTexts(const std::vector<Datum>& texts, std::int64_t rows, bool skipsNulls);

Result<Datum> finished(arrow::ArrayBuilder& builder);

/// What evaluates a call; the arguments are evaluated.
using FunctionCall = Result<Datum> (*)(const expr::ExprNode& node, const std::vector<Datum>& c,
                                       std::int64_t rows);
struct FunctionKernel {
    expr::FunctionId id;
    FunctionCall call;
};

/// Functions that make texts of texts.
std::span<const FunctionKernel> textKernels();
/// Functions over lists.
std::span<const FunctionKernel> listKernels();

}  // namespace millrace::eval

#pragma once
// What the files of functions share: literal arguments, and the families of calls. Private to the
// room. Threads: pure.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/recipe/kernels.h"
#include "backend/spec/expression.h"

namespace arrow {
class ArrayBuilder;
}  // namespace arrow

namespace millrace::recipe {

/// A literal argument; "" or `fallback` when it is left out.
std::string textArgument(const spec::ExprNode& node, std::size_t i);
std::int64_t intArgument(const spec::ExprNode& node, std::size_t i, std::int64_t fallback);

Result<Datum> finished(arrow::ArrayBuilder& builder);

/// Functions over lists, and of dates and times; the arguments are evaluated.
Result<Datum> listCall(const spec::ExprNode& node, const std::vector<Datum>& c, std::int64_t rows);
Result<Datum> timeCall(const spec::ExprNode& node, const std::vector<Datum>& c, std::int64_t rows);

}  // namespace millrace::recipe

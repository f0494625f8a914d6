#pragma once
// Conversions between values of expressions: literals, casts, number widths. Private to expr.
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/expr/expression.h"

namespace millrace::expr {

constexpr DataType scalar(TypeKind kind) {
    return {kind, false, 0, true};
}

bool isUnsigned(TypeKind kind);
/// Whether an integer type can hold the value.
bool fits(std::int64_t value, TypeKind kind);
bool isDateText(std::string_view text);       ///< "2024-01-31"
bool isTimestampText(std::string_view text);  ///< a date, or "2024-01-31 12:00[:00[.000000]][Z]"

bool isStringLiteral(const Expr& e);
bool isNullLiteral(const Expr& e);
bool isIntLiteral(const Expr& e);

/// "add" or "divide": the verb of an arithmetic operation, for messages.
const char* operationVerb(ExprOp op);
/// "; " and a suggestion for two operands without a common type; or "".
std::string hintFor(const Expr& a, const Expr& b);
/// Why an expression cannot read this column: no column of the schema, or one that is refused.
std::string whyUnknown(const Schema& schema, const std::string& name);
/// Whether an explicit cast exists.
bool canCast(const DataType& from, const DataType& to);
/// Converts a typed tree to `type`: literals are changed, others get an implicit cast.
Expr castTo(const Expr& expr, const DataType& type);

}  // namespace millrace::expr

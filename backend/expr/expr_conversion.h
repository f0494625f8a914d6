#pragma once
// Which values of expressions may become which: literals, casts, number widths. Private to the
// room.
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/expr/expression.h"

namespace millrace::expr {

constexpr DataType scalar(TypeKind kind) {
    return {kind, false, 0, true};
}

bool isUnsigned(TypeKind kind);
/// Whether an integer type holds the value.
bool fits(std::int64_t value, TypeKind kind);
bool isDateText(std::string_view text);       ///< "2024-01-31"
bool isTimestampText(std::string_view text);  ///< a date, or "2024-01-31 12:00[:00[.000000]][Z]"

bool isStringLiteral(const Expr& e);
bool isNullLiteral(const Expr& e);
bool isIntLiteral(const Expr& e);

/// "; " and what would be right, of two that have no common type; or "".
std::string hintFor(const Expr& a, const Expr& b);
/// Whether an explicit cast is possible.
bool canCast(const DataType& from, const DataType& to);
/// Brings a typed tree to `type`; literals change themselves, others get an implicit cast.
Expr castTo(const Expr& expr, const DataType& type);

}  // namespace millrace::expr

#pragma once
// Constructors for the nodes of an expression tree. Private to expr.
#include <string>
#include <vector>

#include "backend/expr/expression.h"

namespace millrace::expr {

/// Limit of nested operations; bounds every recursion over a tree.
inline constexpr int kExprDepthMax = 1000;
/// Limit of a tree's nodes; shared nodes (`between`, `case x`) count each time they are used.
inline constexpr std::uint32_t kExprNodesMax = 20000;

Expr makeNode(ExprOp op, std::uint32_t offset, std::vector<Expr> children);
Expr makeLiteral(Literal value, std::uint32_t offset);
Expr makeColumn(std::string name, std::uint32_t offset);
Expr withType(const Expr& node, const DataType& type);
Expr withName(const Expr& node, std::string name);

}  // namespace millrace::expr

#pragma once
// How nodes of an expression tree are made. Private to the room.
#include <string>
#include <utility>
#include <vector>

#include "backend/expr/expression.h"

namespace millrace::expr {

/// Operations above each other; bounds every recursion over a tree.
inline constexpr int kExprDepthMax = 1000;
/// Nodes of a tree, shared ones (`between`, `case x`) counted as often as they are used.
inline constexpr std::uint32_t kExprNodesMax = 20000;

Expr makeNode(ExprOp op, std::uint32_t offset, std::vector<Expr> children);
Expr makeLiteral(Literal value, std::uint32_t offset);
Expr makeColumn(std::string name, std::uint32_t offset);
Expr withType(const Expr& node, const DataType& type);
Expr withName(const Expr& node, std::string name);

}  // namespace millrace::expr

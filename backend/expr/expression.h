#pragma once
// Expressions in SQL scalar syntax: text -> tree -> tree with types.
//
// A typed tree is complete: every implicit conversion stands in it as a kCast node, so operands
// have exactly the type that the operation works on. Sugar is gone: `between` is two comparisons,
// `not in` is kNot over kIn, `if` and `case x when` are kCase, `x::t` is kCast, `date '...'` a
// kCast. Threads: values, immutable. Failure: kInvalidArgument "line:column: what; what would be
// right", counted from 1 inside the text; no input crashes (text up to 64 KiB, 200 brackets, 20,000
// nodes).
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/core/status.h"
#include "backend/core/time_zone.h"
#include "backend/expr/functions.h"
#include "backend/expr/schema.h"

namespace millrace::expr {

enum class ExprOp {
    kLiteral,  ///< `literal`
    kColumn,   ///< `name`
    kNegate,   ///< 1 number
    kAdd,      ///< 2 numbers of one type; an overflow of integers is an error
    kSubtract,
    kMultiply,
    kDivide,     ///< 2 doubles, or 2 floats; x/0 is null
    kIntDivide,  ///< 2 integers of one type, towards zero; x//0 is null
    kModulo,     ///< 2 numbers of one type; the sign of the dividend; x % 0 is null
    kEqual,      ///< 2 of one type
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kAnd,  ///< 2 bools, three-valued (Kleene)
    kOr,
    kNot,     ///< 1 bool
    kIsNull,  ///< 1 of any type; never null
    kIsNotNull,
    kIn,  ///< value, then 1 or more candidates of its type; null when none is equal and one is null
    kLike,     ///< string, pattern (string literal with % and _); case counts
    kConcat,   ///< 2 strings (`||`); null when one is null
    kCase,     ///< condition, value, condition, value, ..., else; values of one type
    kCast,     ///< 1, to `type`; a value that does not fit is an error with file and row
    kTryCast,  ///< 1, to `type`; a value that does not fit is null
    kCall,     ///< `function` with the children as arguments
};

/// Where a piece of text begins: line and column from 1 (columns count code points); 0: unknown.
struct Position {
    int line = 0, column = 0;
    bool operator==(const Position&) const = default;
};

using Literal = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

struct ExprNode;
using Expr = std::shared_ptr<const ExprNode>;

struct ExprNode {
    ExprOp op = ExprOp::kLiteral;
    DataType type;  ///< the result's; of casts also before typing
    std::vector<Expr> children;
    Literal literal;
    std::string name;                    ///< column or function
    const Function* function = nullptr;  ///< kCall, after typing
    /// Of a literal that names a zone, after typing: its rules, as they were then.
    std::shared_ptr<const TimeZone> zone;
    bool isImplicit = false;   ///< a kCast that typing put in
    bool isFlexible = false;   ///< a number literal that takes the type of its partner
    std::uint32_t offset = 0;  ///< byte in the text, for messages
    int depth = 1;             ///< nodes above each other, this one included
    std::uint32_t size = 1;    ///< nodes of the tree
};

/// An error inside an expression; `offset` is the byte it stands at.
struct ExprError {
    std::uint32_t offset = 0;
    std::string message;
};

/// Text -> untyped tree.
Result<Expr> parseExpression(std::string_view text);
/// Untyped tree -> typed tree. The message names the place and the nearest column or function.
Result<Expr> typeExpression(const Expr& expr, const Schema& schema, std::string_view text);
/// Both.
Result<Expr> compileExpression(std::string_view text, const Schema& schema);
/// Both, and the result must be bool (filter, where, label.where); `what` names it in the message.
Result<Expr> compilePredicate(std::string_view text, const Schema& schema, std::string_view what);

/// The same with the error as a value, for callers that know where the text stands.
std::variant<Expr, ExprError> tryParseExpression(std::string_view text);
std::variant<Expr, ExprError> tryTypeExpression(const Expr& expr, const Schema& schema);

/// The columns that a tree reads, each once, in order of appearance.
std::vector<std::string> collectColumns(const Expr& expr);
/// The zones that a tree names, as in timezone('Europe/Berlin', t), before or after typing.
std::vector<std::string> collectZones(const Expr& expr);
/// The functions of a revision above 1 that a tree calls, by name, before or after typing.
std::map<std::string, int> collectRevisions(const Expr& expr);
/// A text that parses to the same tree, fully bracketed; implicit casts left out.
std::string expressionText(const Expr& expr);
/// Line and column of a byte of `text`.
Position positionAt(std::string_view text, std::size_t offset);

/// Whether a join's left side is an expression over the columns rather than the name of one: it is
/// no column's name, and reads as an expression that is more than one column.
bool isJoinExpression(const std::string& text, const Schema& schema);

/// The type that values of both types are brought to, as DuckDB's; false when there is none.
bool commonType(const DataType& a, const DataType& b, DataType& common);

}  // namespace millrace::expr

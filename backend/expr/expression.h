#pragma once
// Expressions in SQL scalar syntax: text -> tree -> typed tree.
//
// A typed tree is complete: every implicit conversion is a kCast node in it, so operands have
// exactly the operation's type. No syntactic sugar is left: `between` is two comparisons,
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
#include "backend/expr/functions.h"
#include "backend/expr/schema.h"
#include "backend/expr/time_zone.h"

namespace millrace::expr {

class TimeFormat;

enum class ExprOp {
    kLiteral,  ///< `literal`
    kColumn,   ///< `name`
    kNegate,   ///< 1 number
    kAdd,      ///< 2 numbers of one type; integer overflow is an error
    kSubtract,
    kMultiply,
    kDivide,     ///< 2 doubles, or 2 floats; x/0 is null
    kIntDivide,  ///< 2 integers of one type, rounded towards zero; x//0 is null
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
    kIn,    ///< value, then 1 or more candidates of its type; null if none is equal and one is null
    kLike,  ///< string, pattern (string literal with % and _); case-sensitive
    kConcat,   ///< 2 strings (`||`); null if either is null
    kCase,     ///< condition, value, condition, value, ..., else; values of one type
    kCast,     ///< 1, to `type`; a value that does not fit is an error with file and row
    kTryCast,  ///< 1, to `type`; a value that does not fit is null
    kCall,     ///< `function` with the children as arguments
};

/// Start of a piece of text: line and column from 1 (columns count code points); 0: unknown.
struct Position {
    int line = 0, column = 0;
    bool operator==(const Position&) const = default;
};

using Literal = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

struct ExprNode;
using Expr = std::shared_ptr<const ExprNode>;

struct ExprNode {
    ExprOp op = ExprOp::kLiteral;
    DataType type;  ///< type of the result; for casts also before typing
    std::vector<Expr> children;
    Literal literal;
    std::string name;                    ///< column or function
    const Function* function = nullptr;  ///< kCall, after typing
    /// For a literal that names a zone, after typing: the zone's rules, as loaded then.
    std::shared_ptr<const TimeZone> zone;
    /// For the format of strptime(), after typing.
    std::shared_ptr<const TimeFormat> timeFormat;
    bool isImplicit = false;   ///< a kCast that typing inserted
    bool isFlexible = false;   ///< a number literal that adopts its partner's type
    std::uint32_t offset = 0;  ///< byte in the text, for messages
    int depth = 1;             ///< nesting depth of nodes, including this one
    std::uint32_t size = 1;    ///< nodes in the tree
};

/// An error inside an expression; `offset` is its byte in the text.
struct ExprError {
    std::uint32_t offset = 0;
    std::string message;
};

/// Parses text to an untyped tree.
Result<Expr> parseExpression(std::string_view text);
/// Types a tree. The message has the position and the nearest column or function.
Result<Expr> typeExpression(const Expr& expr, const Schema& schema, std::string_view text);
/// Parses and types.
Result<Expr> compileExpression(std::string_view text, const Schema& schema);
/// Parses and types; the result must be bool (filter, where, label.where). `what` names it in the
/// message.
Result<Expr> compilePredicate(std::string_view text, const Schema& schema, std::string_view what);

/// Variants with the error as a value, for callers that know the text's own position.
std::variant<Expr, ExprError> tryParseExpression(std::string_view text);
std::variant<Expr, ExprError> tryTypeExpression(const Expr& expr, const Schema& schema);

/// The distinct columns that a tree reads, in order of appearance.
std::vector<std::string> collectColumns(const Expr& expr);
/// The zones named in a tree, as in timezone('Europe/Berlin', t), before or after typing.
std::vector<std::string> collectZones(const Expr& expr);
/// The called functions with a revision above 1, by name, before or after typing.
std::map<std::string, int> collectRevisions(const Expr& expr);
/// A text that parses to the same tree, fully bracketed, without implicit casts.
std::string expressionText(const Expr& expr);
/// Line and column of a byte of `text`.
Position positionAt(std::string_view text, std::size_t offset);

/// A column's name inside of an expression, in quotes unless it is read as a name there.
std::string sqlName(const std::string& name);
/// Whether a join's side is an expression over the columns rather than a column's name: it does not
/// name a column, and it parses to more than a single column, or has a bracket and does not parse.
bool isJoinExpression(const std::string& text, const Schema& schema);

/// The common type of two types, as in DuckDB; false if there is none.
bool commonType(const DataType& a, const DataType& b, DataType& common);

}  // namespace millrace::expr

#include "backend/expr/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "backend/expr/expr_node.h"

namespace millrace::expr {
namespace {

Status errorAt(std::string_view text, const ExprError& error) {
    const Position at = positionAt(text, error.offset);
    return invalidArgument(at.line, ":", at.column, ": ", error.message);
}

void collect(const Expr& expr, std::set<std::string>& seen, std::vector<std::string>& names) {
    if (expr->op == ExprOp::kColumn && seen.insert(expr->name).second) {
        names.push_back(expr->name);
    }
    for (const Expr& child : expr->children) {
        collect(child, seen, names);
    }
}

std::string inQuotes(std::string_view text, char quote) {
    std::string out(1, quote);
    for (const char c : text) {
        out += c;
        if (c == quote) {
            out += c;
        }
    }
    return out + quote;
}

std::string literalText(const Literal& literal) {
    if (const auto* value = std::get_if<bool>(&literal)) {
        return *value ? "true" : "false";
    }
    if (const auto* value = std::get_if<std::int64_t>(&literal)) {
        return std::to_string(*value);
    }
    if (const auto* value = std::get_if<double>(&literal)) {
        // The shortest text that reads back to the same double. Without a point or exponent it
        // would parse as an integer and get another type; "e" and "n" also find the exponent, nan
        // and inf.
        char buffer[40];
        const auto end = std::to_chars(buffer, buffer + sizeof buffer, *value).ptr;
        std::string text(buffer, end);
        return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    }
    if (const auto* value = std::get_if<std::string>(&literal)) {
        return inQuotes(*value, '\'');
    }
    return "null";
}

std::string_view operatorText(ExprOp op) {
    switch (op) {
        case ExprOp::kAdd:
            return " + ";
        case ExprOp::kSubtract:
            return " - ";
        case ExprOp::kMultiply:
            return " * ";
        case ExprOp::kDivide:
            return " / ";
        case ExprOp::kIntDivide:
            return " // ";
        case ExprOp::kModulo:
            return " % ";
        case ExprOp::kEqual:
            return " = ";
        case ExprOp::kNotEqual:
            return " <> ";
        case ExprOp::kLess:
            return " < ";
        case ExprOp::kLessEqual:
            return " <= ";
        case ExprOp::kGreater:
            return " > ";
        case ExprOp::kGreaterEqual:
            return " >= ";
        case ExprOp::kAnd:
            return " and ";
        case ExprOp::kOr:
            return " or ";
        case ExprOp::kLike:
            return " like ";
        default:
            return " || ";
    }
}

std::string joined(const std::vector<Expr>& children, std::size_t from) {
    std::string text;
    for (std::size_t i = from; i < children.size(); ++i) {
        strAppend(&text, i == from ? "" : ", ", expressionText(children[i]));
    }
    return text;
}

std::string caseText(const ExprNode& node) {
    std::string text = "case";
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
        strAppend(&text, " when ", expressionText(node.children[i]), " then ",
                  expressionText(node.children[i + 1]));
    }
    return strCat(text, " else ", expressionText(node.children.back()), " end");
}

/// A digit after the minus would be read as part of one literal: -0 would become 0.
std::string negationText(const std::string& operand) {
    const bool isDigit = operand[0] >= '0' && operand[0] <= '9';
    return isDigit ? strCat("(- (", operand, "))") : strCat("(- ", operand, ")");
}

// Words such as `end` and `like` are names in some places and none in others: all uses are tried.
bool isReadAsName(const std::string& name) {
    const auto whole = tryParseExpression(name);
    const auto* tree = std::get_if<Expr>(&whole);
    const auto used =
        tryParseExpression(strCat("not (", name, " is not null and ", name, " < 1) or hash01(",
                                  name, ", ", name, ") >= 0.9 or ", name, " = 'x'"));
    return tree != nullptr && (*tree)->op == ExprOp::kColumn && (*tree)->name == name &&
           std::holds_alternative<Expr>(used);
}

}  // namespace

Expr makeNode(ExprOp op, std::uint32_t offset, std::vector<Expr> children) {
    ExprNode node;
    node.op = op;
    node.offset = offset;
    for (const Expr& child : children) {
        node.depth = std::max(node.depth, child->depth + 1);
        // Subtrees are shared (the value in `between`), so the counted size can grow exponentially
        // with the depth: it stops just above the limit, where the sum cannot overflow.
        node.size = std::min(node.size + child->size, kExprNodesMax + 1);
    }
    node.children = std::move(children);
    return std::make_shared<const ExprNode>(std::move(node));
}

Expr makeLiteral(Literal value, std::uint32_t offset) {
    ExprNode node;
    node.literal = std::move(value);
    node.offset = offset;
    return std::make_shared<const ExprNode>(std::move(node));
}

Expr makeColumn(std::string name, std::uint32_t offset) {
    ExprNode node;
    node.op = ExprOp::kColumn;
    node.name = std::move(name);
    node.offset = offset;
    return std::make_shared<const ExprNode>(std::move(node));
}

Expr withType(const Expr& node, const DataType& type) {
    ExprNode copy = *node;
    copy.type = type;
    return std::make_shared<const ExprNode>(std::move(copy));
}

Expr withName(const Expr& node, std::string name) {
    ExprNode copy = *node;
    copy.name = std::move(name);
    return std::make_shared<const ExprNode>(std::move(copy));
}

Result<Expr> parseExpression(std::string_view text) {
    std::variant<Expr, ExprError> parsed = tryParseExpression(text);
    if (const auto* error = std::get_if<ExprError>(&parsed)) {
        return errorAt(text, *error);
    }
    return std::get<Expr>(std::move(parsed));
}

Result<Expr> typeExpression(const Expr& expr, const Schema& schema, std::string_view text) {
    std::variant<Expr, ExprError> typed = tryTypeExpression(expr, schema);
    if (const auto* error = std::get_if<ExprError>(&typed)) {
        return errorAt(text, *error);
    }
    return std::get<Expr>(std::move(typed));
}

Result<Expr> compileExpression(std::string_view text, const Schema& schema) {
    ASSIGN_OR_RETURN(const Expr expr, parseExpression(text));
    return typeExpression(expr, schema, text);
}

Result<Expr> compilePredicate(std::string_view text, const Schema& schema, std::string_view what) {
    ASSIGN_OR_RETURN(Expr expr, compileExpression(text, schema));
    if (!expr->type.isBool()) {
        return invalidArgument("1:1: ", what, " must be true or false, not ", expr->type.name(),
                               "; compare it with something");
    }
    return expr;
}

std::vector<std::string> collectColumns(const Expr& expr) {
    std::set<std::string> seen;
    std::vector<std::string> names;
    collect(expr, seen, names);
    return names;
}

// A loop with its own stack, before typing too: there node->function is not set yet, so the
// function is looked up by its name.
std::vector<std::string> collectZones(const Expr& expr) {
    std::set<std::string> zones;
    std::vector<const ExprNode*> open = {expr.get()};
    while (!open.empty()) {
        const ExprNode* node = open.back();
        open.pop_back();
        const std::vector<const Function*> called =
            node->op == ExprOp::kCall ? findFunctions(node->name) : std::vector<const Function*>{};
        const bool isZoned = !called.empty() && called[0]->id == FunctionId::kTimeZone &&
                             !node->children.empty() &&
                             std::holds_alternative<std::string>(node->children[0]->literal);
        if (isZoned) {
            zones.insert(std::get<std::string>(node->children[0]->literal));
        }
        for (const Expr& child : node->children) {
            open.push_back(child.get());
        }
    }
    return {zones.begin(), zones.end()};
}

// Counts all overloads of a name: before typing, the called one is not known.
std::map<std::string, int> collectRevisions(const Expr& expr) {
    std::map<std::string, int> revisions;
    std::vector<const ExprNode*> open = {expr.get()};
    while (!open.empty()) {
        const ExprNode* node = open.back();
        open.pop_back();
        if (node->op == ExprOp::kCall) {
            for (const Function* called : findFunctions(node->name)) {
                if (revisionOf(called->id) > 1) {
                    revisions[std::string(called->name)] = revisionOf(called->id);
                }
            }
        }
        for (const Expr& child : node->children) {
            open.push_back(child.get());
        }
    }
    return revisions;
}

std::string expressionText(const Expr& expr) {
    const auto child = [&](std::size_t i) { return expressionText(expr->children[i]); };
    switch (expr->op) {
        case ExprOp::kLiteral:
            return literalText(expr->literal);
        case ExprOp::kColumn:
            return inQuotes(expr->name, '"');
        case ExprOp::kNegate:
            return negationText(child(0));
        case ExprOp::kNot:
            return strCat("(not ", child(0), ")");
        case ExprOp::kIsNull:
            return strCat("(", child(0), " is null)");
        case ExprOp::kIsNotNull:
            return strCat("(", child(0), " is not null)");
        case ExprOp::kIn:
            return strCat("(", child(0), " in (", joined(expr->children, 1), "))");
        case ExprOp::kCase:
            return caseText(*expr);
        // Typing inserts implicit casts again, so the text stays short and independent of the
        // schema.
        case ExprOp::kCast:
            return expr->isImplicit ? child(0)
                                    : strCat("cast(", child(0), " as ", expr->type.name(), ")");
        case ExprOp::kTryCast:
            return strCat("try_cast(", child(0), " as ", expr->type.name(), ")");
        case ExprOp::kCall:
            return strCat(expr->name, "(", joined(expr->children, 0), ")");
        default:
            return strCat("(", child(0), operatorText(expr->op), child(1), ")");
    }
}

Position positionAt(std::string_view text, std::size_t offset) {
    Position at{1, 1};
    for (std::size_t i = 0; i < std::min(offset, text.size()); ++i) {
        if (text[i] == '\n') {
            ++at.line;
            at.column = 1;
            // Bytes 10xxxxxx continue a UTF-8 character: columns count code points.
        } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
            ++at.column;
        }
    }
    return at;
}

std::string sqlName(const std::string& name) {
    const bool isPlain = !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front())) &&
                         std::all_of(name.begin(), name.end(),
                                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (isPlain && isReadAsName(name)) {
        return name;
    }
    std::string quoted = "\"";
    for (const char c : name) {
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    }
    return quoted + "\"";
}

bool isJoinExpression(const std::string& text, const Schema& schema) {
    if (schema.find(text) != nullptr) {
        return false;
    }
    const auto parsed = tryParseExpression(text);
    const auto* tree = std::get_if<Expr>(&parsed);
    return tree == nullptr ? text.find('(') != std::string::npos
                           : (*tree)->op != ExprOp::kColumn || (*tree)->name != text;
}

}  // namespace millrace::expr

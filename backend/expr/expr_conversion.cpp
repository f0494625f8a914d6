#include "backend/expr/expr_conversion.h"

#include <algorithm>

#include "backend/expr/expr_node.h"

namespace millrace::expr {
bool isUnsigned(TypeKind kind) {
    return kind >= TypeKind::kUint8 && kind <= TypeKind::kUint64;
}

namespace {

int rank(TypeKind kind) {  // 0 for 8 bits ... 3 for 64
    return static_cast<int>(kind) -
           static_cast<int>(isUnsigned(kind) ? TypeKind::kUint8 : TypeKind::kInt8);
}

bool commonInteger(TypeKind a, TypeKind b, TypeKind& common) {
    if (isUnsigned(a) == isUnsigned(b)) {
        common = std::max(a, b);
        return true;
    }
    const int unsignedRank = rank(isUnsigned(a) ? a : b);
    const int signedRank = rank(isUnsigned(a) ? b : a);
    const int width = std::max(signedRank, unsignedRank + 1);
    common = static_cast<TypeKind>(static_cast<int>(TypeKind::kInt8) + width);
    return width <= 3;
}

bool areDigits(std::string_view text, std::string_view form) {  // 'd' is a digit, other characters
                                                                // stand for themselves
    if (text.size() != form.size()) {
        return false;
    }
    for (std::size_t i = 0; i < form.size(); ++i) {
        const bool isDigit = text[i] >= '0' && text[i] <= '9';
        if (form[i] == 'd' ? !isDigit : text[i] != form[i]) {
            return false;
        }
    }
    return true;
}

Expr retyped(const Expr& literal, Literal value, const DataType& type) {
    ExprNode copy = *literal;
    copy.literal = std::move(value);
    copy.type = type;
    copy.isFlexible = false;
    return std::make_shared<const ExprNode>(std::move(copy));
}

}  // namespace

bool fits(std::int64_t value, TypeKind kind) {
    if (kind == TypeKind::kInt64) {
        return true;
    }
    if (kind == TypeKind::kUint64) {
        return value >= 0;
    }
    const int bits = 8 << rank(kind);
    if (isUnsigned(kind)) {
        return value >= 0 && value < (std::int64_t{1} << bits);
    }
    const std::int64_t limit = std::int64_t{1} << (bits - 1);
    return value >= -limit && value < limit;
}

bool isDateText(std::string_view text) {
    if (!areDigits(text, "dddd-dd-dd")) {
        return false;
    }
    const int month = (text[5] - '0') * 10 + text[6] - '0';
    const int day = (text[8] - '0') * 10 + text[9] - '0';
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

bool isTimestampText(std::string_view text) {
    if (isDateText(text)) {
        return true;
    }
    if (text.size() < 16 || !isDateText(text.substr(0, 10)) ||
        (text[10] != ' ' && text[10] != 'T')) {
        return false;
    }
    std::string_view time = text.substr(11);
    if (time.back() == 'Z') {
        time.remove_suffix(1);
    }
    if (time.size() > 9 && time[8] == '.' && time.size() <= 15) {
        if (time.substr(9).find_first_not_of("0123456789") != std::string_view::npos) {
            return false;
        }
        time = time.substr(0, 8);
    }
    return areDigits(time, "dd:dd:dd") || areDigits(time, "dd:dd");
}

bool isStringLiteral(const Expr& e) {
    return e->op == ExprOp::kLiteral && e->type.isString();
}

bool isNullLiteral(const Expr& e) {
    return e->op == ExprOp::kLiteral && e->type.isNull();
}

bool isIntLiteral(const Expr& e) {
    return e->op == ExprOp::kLiteral && std::holds_alternative<std::int64_t>(e->literal);
}

const char* operationVerb(ExprOp op) {
    switch (op) {
        case ExprOp::kAdd:
            return "add";
        case ExprOp::kSubtract:
            return "subtract";
        case ExprOp::kMultiply:
            return "multiply";
        case ExprOp::kModulo:
            return "take the remainder of";
        case ExprOp::kNegate:
            return "negate";
        default:
            return "divide";
    }
}

std::string hintFor(const Expr& a, const Expr& b) {
    if (isStringLiteral(a) || isStringLiteral(b)) {
        return "; a number is written without quotes, a column's name in double quotes";
    }
    if (a->type.isString() || b->type.isString()) {
        return "; cast one of them, as in cast(x as double)";
    }
    if (a->type.isList || b->type.isList) {
        return "; list_contains(list, x) looks into a list";
    }
    if (a->type.isInteger() && b->type.isInteger()) {
        return "; cast one of them to int64";
    }
    return "";
}

std::string whyUnknown(const Schema& schema, const std::string& name) {
    const std::string why = schema.whyUnknown(name);
    const bool isNear = why.find("did you mean") != std::string::npos;
    return schema.findRefused(name) != nullptr || isNear
               ? why
               : strCat(why, "; a text is written in single quotes");
}

bool canCast(const DataType& from, const DataType& to) {
    if (from.isNull()) {
        return true;
    }
    if (from.isList != to.isList) {
        return false;
    }
    const DataType a = from.element(), b = to.element();
    if (b.kind == TypeKind::kDecimal || b.kind == TypeKind::kNull) {
        return false;
    }
    if (a.isTemporal() || b.isTemporal()) {
        return (a.isTemporal() || a.isString()) && (b.isTemporal() || b.isString());
    }
    return true;
}

Expr castTo(const Expr& expr, const DataType& type) {
    if (expr->type.isSame(type)) {
        return expr;
    }
    if (isNullLiteral(expr)) {
        return retyped(expr, std::monostate{}, type);
    }
    if (expr->isFlexible && type.isFloat()) {
        const auto* integer = std::get_if<std::int64_t>(&expr->literal);
        const double value =
            integer ? static_cast<double>(*integer) : std::get<double>(expr->literal);
        const bool isFloat = type.kind == TypeKind::kFloat;
        return retyped(expr, isFloat ? static_cast<double>(static_cast<float>(value)) : value,
                       type);
    }
    if (expr->isFlexible && type.isInteger() && isIntLiteral(expr)) {
        return retyped(expr, expr->literal, type);
    }
    ExprNode node = *makeNode(ExprOp::kCast, expr->offset, {expr});
    node.type = type;
    node.isImplicit = true;
    return std::make_shared<const ExprNode>(std::move(node));
}

bool commonType(const DataType& a, const DataType& b, DataType& common) {
    if (a.isNull() || b.isNull()) {
        common = a.isNull() ? b : a;
        return true;
    }
    if (a.isList || b.isList) {
        common = {a.kind, true, a.listSize == b.listSize ? a.listSize : 0, true};
        return a.isList && b.isList && a.kind == b.kind;
    }
    if (a.kind == b.kind) {
        common = scalar(a.kind);
        return true;
    }
    if (a.isTemporal() && b.isTemporal()) {
        common = scalar(TypeKind::kTimestamp);
        return true;
    }
    const bool areNumbers = (a.isNumber() || a.isBool()) && (b.isNumber() || b.isBool());
    if (!areNumbers) {
        return false;
    }
    if (a.isBool() || b.isBool()) {
        common = a.isBool() ? b : a;
        return true;
    }
    if (a.isInteger() && b.isInteger()) {
        TypeKind kind = TypeKind::kInt64;
        const bool isFound = commonInteger(a.kind, b.kind, kind);
        common = scalar(kind);
        return isFound;
    }
    const bool isDouble = a.kind == TypeKind::kDouble || b.kind == TypeKind::kDouble;
    const bool isFloat = a.kind == TypeKind::kFloat || b.kind == TypeKind::kFloat;
    common = scalar(isFloat && !isDouble ? TypeKind::kFloat : TypeKind::kDouble);
    return true;
}

}  // namespace millrace::expr

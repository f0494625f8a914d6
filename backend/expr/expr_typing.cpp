// Types expressions: bottom-up, makes implicit conversions explicit, resolves names.
#include <algorithm>
#include <variant>

#include <absl/strings/str_join.h>

#include "backend/expr/expr_conversion.h"
#include "backend/expr/expr_node.h"
#include "backend/expr/expression.h"
#include "backend/expr/time_format.h"
#include "backend/expr/time_zone.h"
#include "backend/text/text.h"

namespace millrace::expr {
namespace {

const DataType kBoolType = scalar(TypeKind::kBool);
const DataType kInt32Type = scalar(TypeKind::kInt32);
const DataType kInt64Type = scalar(TypeKind::kInt64);
const DataType kDoubleType = scalar(TypeKind::kDouble);
const DataType kStringType = scalar(TypeKind::kString);

class Typer {
 public:
    explicit Typer(const Schema& schema) : schema_(schema) {}

    std::variant<Expr, ExprError> run(const Expr& expr) {
        Expr typed = type(expr);
        if (!typed) {
            return error_;
        }
        return typed;
    }

 private:
    Expr fail(const Expr& at, std::string message) {
        if (!hasFailed_) {
            hasFailed_ = true;
            error_ = {at->offset, std::move(message)};
        }
        return nullptr;
    }

    Expr type(const Expr& expr) {
        if (expr->op == ExprOp::kLiteral) {
            return literal(expr);
        }
        if (expr->op == ExprOp::kColumn) {
            return column(expr);
        }
        std::vector<Expr> children;
        children.reserve(expr->children.size());
        for (const Expr& child : expr->children) {
            Expr typed = type(child);
            if (!typed) {
                return nullptr;
            }
            children.push_back(std::move(typed));
        }
        return operation(expr, std::move(children));
    }

    Expr operation(const Expr& expr, std::vector<Expr> c) {
        switch (expr->op) {
            case ExprOp::kNegate:
            case ExprOp::kAdd:
            case ExprOp::kSubtract:
            case ExprOp::kMultiply:
            case ExprOp::kIntDivide:
            case ExprOp::kModulo:
            case ExprOp::kDivide:
                return arithmetic(expr, std::move(c));
            case ExprOp::kEqual:
            case ExprOp::kNotEqual:
            case ExprOp::kLess:
            case ExprOp::kLessEqual:
            case ExprOp::kGreater:
            case ExprOp::kGreaterEqual:
            case ExprOp::kIn:
                return comparison(expr, std::move(c));
            case ExprOp::kAnd:
            case ExprOp::kOr:
            case ExprOp::kNot:
                return logic(expr, std::move(c));
            case ExprOp::kIsNull:
            case ExprOp::kIsNotNull:
                return made(expr, expr->op, std::move(c), kBoolType);
            case ExprOp::kLike:
                return like(expr, std::move(c));
            case ExprOp::kConcat:
                return concat(expr, std::move(c));
            case ExprOp::kCase:
                return caseWhen(expr, std::move(c));
            case ExprOp::kCast:
            case ExprOp::kTryCast:
                return cast(expr, std::move(c));
            default:
                return call(expr, std::move(c));
        }
    }

    Expr made(const Expr& from, ExprOp op, std::vector<Expr> children, const DataType& type) {
        return withType(makeNode(op, from->offset, std::move(children)), type);
    }

    Expr literal(const Expr& expr) {
        ExprNode node = *expr;
        if (std::holds_alternative<bool>(node.literal)) {
            node.type = kBoolType;
        } else if (const auto* integer = std::get_if<std::int64_t>(&node.literal)) {
            node.type = fits(*integer, TypeKind::kInt32) ? kInt32Type : kInt64Type;
            node.isFlexible = true;
        } else if (std::holds_alternative<double>(node.literal)) {
            node.type = kDoubleType;
            node.isFlexible = true;
        } else if (std::holds_alternative<std::string>(node.literal)) {
            node.type = kStringType;
        } else {
            node.type = scalar(TypeKind::kNull);
        }
        node.type.nullable = node.type.isNull();
        return std::make_shared<const ExprNode>(std::move(node));
    }

    Expr column(const Expr& expr) {
        const Field* field = schema_.find(expr->name);
        if (field == nullptr) {
            return fail(expr, whyUnknown(schema_, expr->name));
        }
        return withType(expr, field->type);
    }

    /// Converts all to one type; returns false after an error that contains `verb`.
    bool unify(std::vector<Expr>& parts, const Expr& at, std::string_view verb) {
        DataType common = scalar(TypeKind::kNull);
        const Expr* first = nullptr;
        for (const bool isFlexibleTurn : {false, true}) {  // literals last: they adapt
            for (const Expr& part : parts) {
                if (part->isFlexible != isFlexibleTurn || isNullLiteral(part)) {
                    continue;
                }
                if (!widen(common, part)) {
                    fail(at, strCat("cannot ", verb, " ", (*first)->type.name(), " and ",
                                    part->type.name(), hintFor(*first, part)));
                    return false;
                }
                first = first == nullptr ? &part : first;
            }
        }
        if (common.isNull()) {  // nulls only: any type would do
            common = kInt32Type;
        }
        // A decimal's digits come from its column, and a null in an expression has none.
        if (common.kind == TypeKind::kDecimal && std::ranges::any_of(parts, isNullLiteral)) {
            common.kind = TypeKind::kDouble;
        }
        for (Expr& part : parts) {
            if (!checkTimeText(part, common)) {
                return false;
            }
            part = castTo(part, common);
        }
        return true;
    }

    // A literal that fits leaves the common type alone: `int8_column + 1` is an int8.
    bool widen(DataType& common, const Expr& part) {
        if (part->isFlexible && isIntLiteral(part) && common.isInteger() &&
            fits(std::get<std::int64_t>(part->literal), common.kind)) {
            return true;
        }
        if (part->isFlexible && !isIntLiteral(part) && common.isFloat()) {
            return true;
        }
        if (part->isFlexible && common.isBool() && !isIntLiteral(part)) {
            return false;
        }
        if (isStringLiteral(part) && common.isTemporal()) {
            return true;
        }
        if (common.isString() && part->type.isTemporal() && allStringsAreLiterals_) {
            common = part->type;
            return true;
        }
        return commonType(common, part->type, common);
    }

    bool checkTimeText(const Expr& part, const DataType& type) {
        if (!isStringLiteral(part) || !type.isTemporal()) {
            return true;
        }
        const auto& text = std::get<std::string>(part->literal);
        const bool isDate = type.kind == TypeKind::kDate;
        if (isDate ? isDateText(text) : isTimestampText(text)) {
            return true;
        }
        fail(part, strCat("'", text.substr(0, 40), "' is not a ", type.name(), "; write it as '",
                          isDate ? "2024-01-31" : "2024-01-31 12:00:00", "'"));
        return false;
    }

    Expr arithmetic(const Expr& expr, std::vector<Expr> c) {
        for (const Expr& child : c) {
            if (!child->type.isNumber() && !isNullLiteral(child)) {
                return fail(child,
                            strCat("cannot ", operationVerb(expr->op), " ", child->type.name(),
                                   child->type.isTemporal() ? "; epoch(t) gives seconds"
                                   : child->type.isString() ? "; cast it, as in cast(x as double)"
                                   : child->type.isBool()   ? "; cast it, as in cast(x as int)"
                                                            : ""));
            }
        }
        if (!unify(c, expr, operationVerb(expr->op))) {
            return nullptr;
        }
        DataType type = c[0]->type;
        ExprOp op = expr->op;
        if (op == ExprOp::kIntDivide && !type.isInteger()) {
            op = ExprOp::kDivide;  // as in DuckDB
        }
        if (type.kind == TypeKind::kDecimal || (op == ExprOp::kDivide && type.isInteger())) {
            type = kDoubleType;
        }
        if (op == ExprOp::kNegate && isUnsigned(type.kind)) {
            return fail(expr, strCat("cannot negate ", type.name(), "; cast it to int64"));
        }
        for (Expr& child : c) {
            child = castTo(child, type);
        }
        type.nullable = true;
        return made(expr, op, std::move(c), type);
    }

    Expr comparison(const Expr& expr, std::vector<Expr> c) {
        allStringsAreLiterals_ = true;  // in `'2024-01-01' < t` the text comes first
        for (const Expr& child : c) {
            allStringsAreLiterals_ &= !child->type.isString() || isStringLiteral(child);
            if (child->type.isList) {
                return fail(child,
                            "lists cannot be compared; list_contains(list, x) looks into one");
            }
        }
        const bool isUnified = unify(c, expr, "compare");
        allStringsAreLiterals_ = false;
        if (!isUnified) {
            return nullptr;
        }
        for (Expr& child : c) {
            child = child->type.kind == TypeKind::kDecimal ? castTo(child, kDoubleType) : child;
        }
        return made(expr, expr->op, std::move(c), kBoolType);
    }

    Expr logic(const Expr& expr, std::vector<Expr> c) {
        for (Expr& child : c) {
            if (!asBool(child, expr->op == ExprOp::kNot  ? "'not'"
                               : expr->op == ExprOp::kOr ? "'or'"
                                                         : "'and'")) {
                return nullptr;
            }
        }
        return made(expr, expr->op, std::move(c), kBoolType);
    }

    bool asBool(Expr& expr, std::string_view where) {
        if (isNullLiteral(expr)) {
            expr = castTo(expr, kBoolType);
        }
        if (!expr->type.isBool()) {
            fail(expr, strCat(where, " needs true or false, not ", expr->type.name(),
                              "; compare it with something"));
            return false;
        }
        return true;
    }

    bool asString(Expr& expr, std::string_view where, bool areIntegersWelcome = false) {
        if (isNullLiteral(expr) || (areIntegersWelcome && expr->type.isInteger())) {
            ExprNode plain = *expr;
            plain.isFlexible = false;
            expr = castTo(std::make_shared<const ExprNode>(std::move(plain)), kStringType);
        }
        if (!expr->type.isString()) {
            const char* const hint = where == "'||'" && expr->type.isBool()
                                         ? "; write 'or' between conditions"
                                         : "; cast it, as in cast(x as string)";
            fail(expr, strCat(where, " needs a string, not ", expr->type.name(), hint));
            return false;
        }
        return true;
    }

    Expr like(const Expr& expr, std::vector<Expr> c) {
        if (!asString(c[0], "'like'") || !asString(c[1], "'like'")) {
            return nullptr;
        }
        if (c[1]->op != ExprOp::kLiteral) {
            return fail(c[1], "the pattern of 'like' must be a literal, as in 'a%'");
        }
        return made(expr, ExprOp::kLike, std::move(c), kBoolType);
    }

    Expr concat(const Expr& expr, std::vector<Expr> c) {
        if (!asString(c[0], "'||'", true) || !asString(c[1], "'||'", true)) {
            return nullptr;
        }
        return made(expr, ExprOp::kConcat, std::move(c), kStringType);
    }

    Expr caseWhen(const Expr& expr, std::vector<Expr> c) {
        std::vector<Expr> values;
        for (std::size_t i = 0; i + 1 < c.size(); i += 2) {
            if (!asBool(c[i], "a condition")) {
                return nullptr;
            }
            values.push_back(c[i + 1]);
        }
        values.push_back(c.back());
        if (!unify(values, expr, "give back both")) {
            return nullptr;
        }
        for (std::size_t i = 0; i + 1 < c.size(); i += 2) {
            c[i + 1] = values[i / 2];
        }
        c.back() = values.back();
        DataType type = c.back()->type;
        type.nullable = true;
        return made(expr, ExprOp::kCase, std::move(c), type);
    }

    Expr cast(const Expr& expr, std::vector<Expr> c) {
        if (!canCast(c[0]->type, expr->type)) {
            const bool isTime = c[0]->type.isNumber() && expr->type.isTemporal();
            return fail(expr, strCat("cannot cast ", c[0]->type.name(), " to ", expr->type.name(),
                                     isTime ? "; make_timestamp(microseconds) makes a time"
                                     : expr->type.kind == TypeKind::kDecimal ? "; use double"
                                                                             : ""));
        }
        if (expr->op == ExprOp::kCast && !checkTimeText(c[0], expr->type)) {
            return nullptr;
        }
        if (isNullLiteral(c[0])) {
            return castTo(c[0], expr->type);
        }
        return made(expr, expr->op, std::move(c), expr->type);
    }

    Expr call(const Expr& expr, std::vector<Expr> c) {
        const std::vector<const Function*> overloads = findFunctions(expr->name);
        if (overloads.empty()) {
            return fail(expr,
                        strCat("unknown function ", expr->name, "()", functionHint(expr->name)));
        }
        const Function* chosen = overloads[0];  // overloads differ in whether the first is a list
        for (const Function* overload : overloads) {
            const bool wantsList = overload->params[0] == ParamKind::kList;
            if (overloads.size() > 1 && !c.empty() && wantsList == c[0]->type.isList) {
                chosen = overload;
            }
        }
        if (!checkCount(expr, *chosen, c.size())) {
            return nullptr;
        }
        if (chosen->id == FunctionId::kNullif) {
            return nullIf(expr, c);
        }
        const bool isHash =
            chosen->id == FunctionId::kHashIds || chosen->id == FunctionId::kListHashIds;
        if (isHash && isIntLiteral(c[1]) && std::get<std::int64_t>(c[1]->literal) < 2) {
            return fail(c[1], "hash_ids() needs at least 2 buckets");
        }
        return arguments(expr, *chosen, c) ? finishCall(expr, *chosen, std::move(c)) : nullptr;
    }

    bool checkCount(const Expr& expr, const Function& f, std::size_t count) {
        const std::size_t most = f.params.size() + f.optional.size();
        if (count >= f.params.size() && (count <= most || f.isVariadic)) {
            return true;
        }
        fail(expr, strCat(f.name, "() takes (", f.arguments, "), not ", count,
                          count == 1 ? " argument" : " arguments"));
        return false;
    }

    Expr nullIf(const Expr& expr, const std::vector<Expr>& c) {
        Expr equal = makeNode(ExprOp::kEqual, expr->offset, {c[0], c[1]});
        if (!(equal = comparison(equal, {c[0], c[1]}))) {
            return nullptr;
        }
        Expr none = withType(makeLiteral(std::monostate{}, expr->offset), scalar(TypeKind::kNull));
        return caseWhen(expr, {equal, none, c[0]});
    }

    static ParamKind paramAt(const Function& f, std::size_t i) {
        if (i < f.params.size()) {
            return f.params[i];
        }
        return f.isVariadic ? f.params.back() : f.optional[i - f.params.size()];
    }

    bool arguments(const Expr& expr, const Function& f, std::vector<Expr>& c) {
        std::vector<Expr> same;
        for (std::size_t i = 0; i < c.size(); ++i) {
            const ParamKind kind = paramAt(f, i);
            if (kind == ParamKind::kSame) {
                same.push_back(c[i]);
            } else if (!argument(f, kind, c, i)) {
                return false;
            }
        }
        if (!same.empty()) {
            if (!unify(same, expr, "bring together")) {
                return false;
            }
            const bool isOrdered = f.id == FunctionId::kGreatest || f.id == FunctionId::kLeast;
            for (Expr& part : same) {
                const bool isDecimal = part->type.isSame(scalar(TypeKind::kDecimal));
                part = isOrdered && isDecimal ? castTo(part, kDoubleType) : part;
            }
            c = std::move(same);
        }
        return true;
    }

    bool argument(const Function& f, ParamKind kind, std::vector<Expr>& c, std::size_t i) {
        const std::string where = strCat(f.name, "()");
        Expr& arg = c[i];
        switch (kind) {
            case ParamKind::kString:
                return asString(arg, where, f.id == FunctionId::kConcat);
            case ParamKind::kNumber:
            case ParamKind::kDouble:
                return number(arg, kind, where);
            case ParamKind::kInt64:
                return isNullLiteral(arg) || arg->type.isInteger()
                           ? (arg = castTo(arg, kInt64Type), true)
                           : wrong(arg, where, "an integer");
            case ParamKind::kLiteralInt:
                return isIntLiteral(arg) ? (arg = castTo(arg, kInt64Type), true)
                                         : wrong(arg, where, "a literal integer here");
            case ParamKind::kLiteralString:
                return isStringLiteral(arg) || wrong(arg, where, "a literal text here");
            case ParamKind::kList:
                return arg->type.isList || wrong(arg, where, "a list");
            case ParamKind::kElement:
                return element(c[0], arg, where);
            case ParamKind::kTime:
                return time(arg, where);
            case ParamKind::kTimePart:
                return timePart(f, arg, where);
            case ParamKind::kTimeZone:
                return timeZone(arg, where);
            case ParamKind::kTimeFormat:
                return timeFormat(arg, where);
            default:
                return !arg->type.isList || wrong(arg, where, "plain values");
        }
    }

    bool wrong(const Expr& arg, std::string_view where, std::string_view wanted) {
        fail(arg, strCat(where, " needs ", wanted, ", not ",
                         arg->op == ExprOp::kLiteral ? "a " : "", arg->type.name()));
        return false;
    }

    bool number(Expr& arg, ParamKind kind, std::string_view where) {
        if (!arg->type.isNumber() && !isNullLiteral(arg)) {
            return wrong(arg, where, "a number");
        }
        const bool isBare = isNullLiteral(arg) || arg->type.kind == TypeKind::kDecimal;
        if (kind == ParamKind::kDouble || isBare) {
            arg = castTo(arg, kDoubleType);
        }
        return true;
    }

    bool time(Expr& arg, std::string_view where) {
        if (!arg->type.isTemporal() && !isNullLiteral(arg)) {
            fail(arg, strCat(where, " needs a date or timestamp, not ", arg->type.name(),
                             arg->type.isInteger() ? "; make_timestamp(seconds * 1000000) makes one"
                                                   : ""));
            return false;
        }
        if (arg->type.kind == TypeKind::kDate) {  // far dates have no timestamp, and no parts
            ExprNode node = *makeNode(ExprOp::kTryCast, arg->offset, {arg});
            node.type = scalar(TypeKind::kTimestamp);
            node.isImplicit = true;
            arg = std::make_shared<const ExprNode>(std::move(node));
            return true;
        }
        arg = castTo(arg, scalar(TypeKind::kTimestamp));
        return true;
    }

    bool timePart(const Function& f, const Expr& arg, std::string_view where) {
        const std::vector<std::string> known = timeParts(f.id != FunctionId::kDatePart);
        const std::string part =
            isStringLiteral(arg) ? std::get<std::string>(arg->literal) : std::string();
        if (std::ranges::find(known, part) != known.end()) {
            return true;
        }
        fail(arg, strCat(where, " needs a part of a time as a literal text: ",
                         absl::StrJoin(known, ", ")));
        return false;
    }

    bool timeZone(Expr& arg, std::string_view where) {
        if (!isStringLiteral(arg)) {
            return wrong(arg, where, "a time zone as a literal text, such as 'Europe/Berlin'");
        }
        auto zone = TimeZone::load(std::get<std::string>(arg->literal));
        if (!zone.ok()) {
            fail(arg, std::string(messageOf(zone.status())));
            return false;
        }
        ExprNode node = *arg;
        node.zone = std::move(*zone);  // evaluation uses these rules, even if the file changes
        arg = std::make_shared<const ExprNode>(std::move(node));
        return true;
    }

    bool timeFormat(Expr& arg, std::string_view where) {
        if (!isStringLiteral(arg)) {
            return wrong(arg, where, "a format as a literal text, such as '%Y-%m-%d'");
        }
        auto format = TimeFormat::make(std::get<std::string>(arg->literal));
        if (!format.ok()) {
            fail(arg, strCat(where, ": ", messageOf(format.status())));
            return false;
        }
        ExprNode node = *arg;
        node.timeFormat = std::make_shared<const TimeFormat>(*std::move(format));
        arg = std::make_shared<const ExprNode>(std::move(node));
        return true;
    }

    bool element(const Expr& list, Expr& arg, std::string_view where) {
        const DataType wanted = list->type.element();
        DataType common = wanted;
        if (!widen(common, arg) || !common.isSame(wanted)) {
            return wrong(arg, where, strCat("an element of type ", wanted.name()));
        }
        arg = castTo(arg, wanted);
        return true;
    }

    Expr finishCall(const Expr& expr, const Function& f, std::vector<Expr> c) {
        ExprNode node = *makeNode(ExprOp::kCall, expr->offset, std::move(c));
        node.name = f.name;
        node.function = &f;
        node.type = resultType(f, node.children);
        node.type.nullable = f.id != FunctionId::kHash01 && f.id != FunctionId::kHashIds;
        return std::make_shared<const ExprNode>(std::move(node));
    }

    static DataType resultType(const Function& f, const std::vector<Expr>& c) {
        switch (f.result) {
            case ResultKind::kBool:
                return kBoolType;
            case ResultKind::kInt8:
                return scalar(TypeKind::kInt8);
            case ResultKind::kInt64:
                return kInt64Type;
            case ResultKind::kDouble:
                return kDoubleType;
            case ResultKind::kString:
                return kStringType;
            case ResultKind::kStringList:
                return {TypeKind::kString, true, 0, true};
            case ResultKind::kInt64List:
                return {TypeKind::kInt64, true, 0, true};
            case ResultKind::kTimestamp:
                return scalar(TypeKind::kTimestamp);
            case ResultKind::kElement:
                return c[0]->type.element();
            case ResultKind::kRounded:
                return c[0]->type.kind == TypeKind::kFloat ? c[0]->type : kDoubleType;
            default: {
                DataType type = c[0]->type;
                type.listSize = 0;  // list_slice() may shorten a list of fixed size
                return type;
            }
        }
    }

    const Schema& schema_;
    bool allStringsAreLiterals_ = false;
    bool hasFailed_ = false;
    ExprError error_;
};

}  // namespace

std::variant<Expr, ExprError> tryTypeExpression(const Expr& expr, const Schema& schema) {
    return Typer(schema).run(expr);
}

}  // namespace millrace::expr

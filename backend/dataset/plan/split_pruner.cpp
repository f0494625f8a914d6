#include "backend/dataset/plan/split_pruner.h"

#include <algorithm>
#include <cmath>

#include <arrow/scalar.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::dataset {
namespace {

using expr::Expr;
using expr::ExprOp;
using expr::TypeKind;

bool isFloatKind(TypeKind kind) {
    return kind == TypeKind::kFloat || kind == TypeKind::kDouble;
}

bool isIntegerKind(TypeKind kind) {
    return kind >= TypeKind::kInt8 && kind <= TypeKind::kUint64;
}

/// -1, 0, 1; absent if the two cannot be compared exactly.
std::optional<int> compare(const Bound& a, const Bound& b) {
    const auto order = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
    if (std::holds_alternative<std::string>(a) && std::holds_alternative<std::string>(b)) {
        return order(std::get<std::string>(a), std::get<std::string>(b));
    }
    const auto* i = std::get_if<std::int64_t>(&a);
    const auto* j = std::get_if<std::int64_t>(&b);
    if (i != nullptr && j != nullptr) {
        return order(*i, *j);
    }
    const auto real = [](const Bound& bound) -> std::optional<double> {
        constexpr std::int64_t kExact = std::int64_t{1} << 53;
        if (const auto* integer = std::get_if<std::int64_t>(&bound)) {
            return *integer >= -kExact && *integer <= kExact
                       ? std::optional(static_cast<double>(*integer))
                       : std::nullopt;
        }
        const auto* number = std::get_if<double>(&bound);
        return number != nullptr && !std::isnan(*number) ? std::optional(*number) : std::nullopt;
    };
    const std::optional<double> x = real(a), y = real(b);
    return x && y ? std::optional(order(*x, *y)) : std::nullopt;
}

/// Returns the column below casts that preserve order and values; null for other expressions.
const expr::ExprNode* columnOf(const Expr& expr) {
    const expr::ExprNode* node = expr.get();
    while (node->op == ExprOp::kCast && node->isImplicit) {
        const expr::DataType& from = node->children[0]->type;
        const bool isWider = isIntegerKind(from.kind) && isIntegerKind(node->type.kind);
        const bool isExact =
            isWider || (from.kind == TypeKind::kFloat && node->type.kind == TypeKind::kDouble) ||
            (isIntegerKind(from.kind) && node->type.kind == TypeKind::kDouble);
        if (!isExact) {
            return nullptr;
        }
        node = node->children[0].get();
    }
    return node->op == ExprOp::kColumn && !node->type.isList ? node : nullptr;
}

Bound temporalOf(const std::string& text, TypeKind kind) {
    const auto scalar = arrow::Scalar::Parse(
        kind == TypeKind::kDate ? arrow::date32() : arrow::timestamp(arrow::TimeUnit::MICRO), text);
    if (!scalar.ok()) {
        return {};
    }
    return kind == TypeKind::kDate
               ? std::int64_t{static_cast<const arrow::Date32Scalar&>(**scalar).value}
               : static_cast<const arrow::TimestampScalar&>(**scalar).value;
}

/// The value of a constant; monostate for null and for other expressions.
Bound constantOf(const Expr& expr) {
    if (expr->op == ExprOp::kLiteral) {
        if (const auto* flag = std::get_if<bool>(&expr->literal)) {
            return std::int64_t{*flag ? 1 : 0};
        }
        if (const auto* integer = std::get_if<std::int64_t>(&expr->literal)) {
            return isFloatKind(expr->type.kind) ? Bound(static_cast<double>(*integer))
                                                : Bound(*integer);
        }
        if (const auto* number = std::get_if<double>(&expr->literal)) {
            return expr->type.kind == TypeKind::kFloat ? double{static_cast<float>(*number)}
                                                       : *number;
        }
        const auto* text = std::get_if<std::string>(&expr->literal);
        return text != nullptr && expr->type.isString()     ? Bound(*text)
               : text != nullptr && expr->type.isTemporal() ? temporalOf(*text, expr->type.kind)
                                                            : Bound();
    }
    if (expr->op == ExprOp::kNegate) {
        const Bound of = constantOf(expr->children[0]);
        const auto* integer = std::get_if<std::int64_t>(&of);
        const auto* number = std::get_if<double>(&of);
        return integer != nullptr && *integer != INT64_MIN ? Bound(-*integer)
               : number != nullptr                         ? Bound(-*number)
                                                           : Bound();
    }
    if (expr->op != ExprOp::kCast) {
        return {};
    }
    const Bound of = constantOf(expr->children[0]);
    const auto* text = std::get_if<std::string>(&of);
    if (text != nullptr && expr->type.isTemporal()) {
        return temporalOf(*text, expr->type.kind);
    }
    const bool isNumber =
        std::holds_alternative<std::int64_t>(of) &&
        (isIntegerKind(expr->type.kind) || expr->type.kind == TypeKind::kDouble) &&
        isIntegerKind(expr->children[0]->type.kind);
    return isNumber ? of : Bound();
}

bool isNullLiteral(const Expr& expr) {
    const expr::ExprNode* node = expr.get();
    while (node->op == ExprOp::kCast) {
        node = node->children[0].get();
    }
    return node->op == ExprOp::kLiteral && node->literal.index() == 0;
}

/// Decides whether an expression may be true, or false, for some row.
class Prover {
 public:
    explicit Prover(const ColumnLookup& columns) : columns_(columns) {}

    bool mayBe(const Expr& expr, bool wanted) const {
        switch (expr->op) {
            case ExprOp::kLiteral: {
                const auto* flag = std::get_if<bool>(&expr->literal);
                return flag != nullptr && *flag == wanted;  // null is neither true nor false
            }
            case ExprOp::kAnd:
                return wanted ? every(*expr, true) : any(*expr, false);
            case ExprOp::kOr:
                return wanted ? any(*expr, true) : every(*expr, false);
            case ExprOp::kNot:
                return mayBe(expr->children[0], !wanted);
            case ExprOp::kIsNull:
            case ExprOp::kIsNotNull:
                return mayBeNull(expr->children[0], (expr->op == ExprOp::kIsNull) == wanted);
            case ExprOp::kIn:
                return mayBeIn(*expr, wanted);
            case ExprOp::kColumn:
                return mayCompare(expr, ExprOp::kEqual, std::int64_t{wanted ? 1 : 0});
            default:
                return mayCompare(*expr, wanted);
        }
    }

 private:
    bool every(const expr::ExprNode& node, bool wanted) const {
        return std::ranges::all_of(node.children,
                                   [&](const Expr& child) { return mayBe(child, wanted); });
    }
    bool any(const expr::ExprNode& node, bool wanted) const {
        return std::ranges::any_of(node.children,
                                   [&](const Expr& child) { return mayBe(child, wanted); });
    }

    std::optional<ColumnFactsOfSplit> factsOf(const Expr& expr) const {
        const expr::ExprNode* column = columnOf(expr);
        return column == nullptr ? std::nullopt : columns_(column->name);
    }

    bool mayBeNull(const Expr& expr, bool isNull) const {
        const expr::ExprNode* column = expr->op == ExprOp::kColumn ? expr.get() : nullptr;
        const auto facts = column == nullptr ? std::nullopt : columns_(column->name);
        return !facts || (isNull ? facts->hasNulls || facts->isAllNull : !facts->isAllNull);
    }

    bool mayBeIn(const expr::ExprNode& node, bool wanted) const {
        if (!wanted) {
            const auto facts = factsOf(node.children[0]);
            return !facts || !facts->isAllNull;
        }
        return std::any_of(node.children.begin() + 1, node.children.end(), [&](const Expr& child) {
            const Bound value = constantOf(child);
            if (isNullLiteral(child)) {
                return false;  // nothing equals null
            }
            return value.index() == 0 || mayCompare(node.children[0], ExprOp::kEqual, value);
        });
    }

    static std::optional<ExprOp> opposite(ExprOp op) {
        switch (op) {
            case ExprOp::kEqual:
                return ExprOp::kNotEqual;
            case ExprOp::kNotEqual:
                return ExprOp::kEqual;
            case ExprOp::kLess:
                return ExprOp::kGreaterEqual;
            case ExprOp::kLessEqual:
                return ExprOp::kGreater;
            case ExprOp::kGreater:
                return ExprOp::kLessEqual;
            case ExprOp::kGreaterEqual:
                return ExprOp::kLess;
            default:
                return std::nullopt;
        }
    }
    static ExprOp mirrored(ExprOp op) {
        switch (op) {
            case ExprOp::kLess:
                return ExprOp::kGreater;
            case ExprOp::kLessEqual:
                return ExprOp::kGreaterEqual;
            case ExprOp::kGreater:
                return ExprOp::kLess;
            case ExprOp::kGreaterEqual:
                return ExprOp::kLessEqual;
            default:
                return op;
        }
    }

    bool mayCompare(const expr::ExprNode& node, bool wanted) const {
        const std::optional<ExprOp> inverse = opposite(node.op);
        if (!inverse || node.children.size() != 2) {
            return true;
        }
        const ExprOp op = wanted ? node.op : *inverse;
        const Bound right = constantOf(node.children[1]);
        if (right.index() != 0) {
            return mayCompare(node.children[0], op, right);
        }
        const Bound left = constantOf(node.children[0]);
        return left.index() == 0 || mayCompare(node.children[1], mirrored(op), left);
    }

    /// Whether some value of the column may be in this relation to `value`.
    bool mayCompare(const Expr& column, ExprOp op, const Bound& value) const {
        const auto facts = factsOf(column);
        if (!facts) {
            return true;
        }
        if (facts->isAllNull) {
            return false;
        }
        if (op == ExprOp::kEqual && facts->mayHold && !facts->mayHold(value)) {
            return false;
        }
        const std::optional<int> least = compare(facts->min, value);
        const std::optional<int> most = compare(facts->max, value);
        if (!least || !most) {
            return true;
        }
        // Bounds exclude NaN, which is above all numbers.
        const bool mayBeNan = isFloatKind(columnOf(column)->type.kind);
        switch (op) {
            case ExprOp::kEqual:
                return *least <= 0 && *most >= 0;
            case ExprOp::kNotEqual:
                return mayBeNan || *least != 0 || *most != 0;
            case ExprOp::kLess:
                return *least < 0;
            case ExprOp::kLessEqual:
                return *least <= 0;
            case ExprOp::kGreater:
                return mayBeNan || *most > 0;
            default:
                return mayBeNan || *most >= 0;
        }
    }

    const ColumnLookup& columns_;
};

}  // namespace

SplitPruner SplitPruner::make(const spec::RunSpec& spec, const expr::Schema& schema, bool isEval) {
    std::vector<std::string> texts;
    texts.push_back(isEval && spec.eval ? spec.eval->dataset.where : spec.dataset.where);
    for (const spec::Step& step : spec.recipe) {
        if (isEval || (step.enabled && !step.keepsColumns())) {
            break;
        }
        const auto* filter = step.as<spec::FilterStep>();
        if (step.enabled && filter != nullptr) {
            texts.push_back(filter->expr);
        }
    }
    SplitPruner pruner;
    for (const std::string& text : texts) {
        auto typed = expr::compilePredicate(text, schema, "filter");
        if (!text.empty() && typed.ok()) {
            for (const std::string& column : expr::collectColumns(*typed)) {
                if (std::ranges::find(pruner.columns_, column) == pruner.columns_.end()) {
                    pruner.columns_.push_back(column);
                }
            }
            pruner.filters_.push_back(*std::move(typed));
        }
    }
    return pruner;
}

bool SplitPruner::provesEmpty(const ColumnLookup& columns) const {
    const Prover prover(columns);
    return std::ranges::any_of(
        filters_, [&prover](const Expr& filter) { return !prover.mayBe(filter, true); });
}

}  // namespace millrace::dataset

#include "backend/recipe/mixed_columns.h"

#include <utility>
#include <variant>
#include <vector>

#include "backend/expr/expression.h"

namespace millrace::recipe {
namespace {

using expr::ExprOp;

bool isCast(const expr::ExprNode& node) {
    return node.op == ExprOp::kCast || node.op == ExprOp::kTryCast;
}

/// Whether the result depends on how its arguments are written or hashed.
bool takesForm(const expr::ExprNode& node) {
    const bool isText = isCast(node) && node.type.isString();
    return isText || node.op == ExprOp::kConcat ||
           (node.op == ExprOp::kCall &&
            (node.name == "hash01" || node.name == "hash_ids" || node.name == "concat"));
}

/// Whether the result is the same for an integer and the float of the same value.
bool dropsForm(const expr::ExprNode& node) {
    switch (node.op) {
        case ExprOp::kEqual:
        case ExprOp::kNotEqual:
        case ExprOp::kLess:
        case ExprOp::kLessEqual:
        case ExprOp::kGreater:
        case ExprOp::kGreaterEqual:
        case ExprOp::kAnd:
        case ExprOp::kOr:
        case ExprOp::kNot:
        case ExprOp::kIsNull:
        case ExprOp::kIsNotNull:
        case ExprOp::kIn:
        case ExprOp::kDivide:
            return true;
        default:
            return isCast(node);
    }
}

/// Follows mixed columns through a recipe.
class Mixing {
 public:
    explicit Mixing(MixedColumns columns) : columns_(std::move(columns)) {}

    Status expression(const std::string& place, const std::string& text) const {
        return originOf(place, text).status();
    }

    Status recipe(const std::vector<spec::Step>& steps, const std::string& key) {
        for (const spec::Step& step : steps) {
            if (step.enabled) {
                RETURN_IF_ERROR(this->step(step, strCat(key, ".", step.name)));
            }
        }
        return okStatus();
    }

 private:
    Status step(const spec::Step& step, const std::string& place) {
        const spec::StepReads reads = step.reads();
        for (const std::string& text : reads.expressions) {
            RETURN_IF_ERROR(expression(place, text));
        }
        for (const std::string& text : reads.lookedUp) {
            ASSIGN_OR_RETURN(const std::string origin, columns_.contains(text)
                                                           ? Result<std::string>(text)
                                                           : originOf(place, text));
            RETURN_IF_ERROR(check(place, "a join by", origin));
        }
        if (step.as<spec::HashStep>() != nullptr || step.draws()) {
            for (const std::string& column : reads.columns) {
                RETURN_IF_ERROR(check(place, "a hash of", columns_.contains(column) ? column : ""));
            }
        }
        return makes(step, place);
    }

    Status makes(const spec::Step& step, const std::string& place) {
        MixedColumns made;
        for (const spec::MadeColumn& column : step.makes()) {
            std::string origin(step.handsOn(column.name));
            if (!column.isOfTable && !column.expr.empty()) {
                ASSIGN_OR_RETURN(origin, originOf(place, column.expr));
            }
            const auto found = columns_.find(origin);
            made[column.name] = found == columns_.end() ? "" : found->second;
        }
        for (auto& [name, why] : made) {
            columns_.erase(name);
            if (!why.empty()) {
                columns_.emplace(name, std::move(why));
            }
        }
        return okStatus();
    }

    /// The mixed column whose form the expression's values have; "": none. Fails where a part of it
    /// takes the form of one.
    Result<std::string> originOf(const std::string& place, const std::string& text) const {
        const auto parsed = expr::tryParseExpression(text);
        const auto* tree = std::get_if<expr::Expr>(&parsed);
        return columns_.empty() || tree == nullptr ? Result<std::string>("")
                                                   : originOf(place, **tree);
    }

    Result<std::string> originOf(const std::string& place, const expr::ExprNode& node) const {
        std::string origin;
        if (node.op == ExprOp::kColumn && columns_.contains(node.name)) {
            origin = node.name;
        }
        for (const expr::Expr& child : node.children) {
            ASSIGN_OR_RETURN(const std::string own, originOf(place, *child));
            origin = origin.empty() ? own : origin;
        }
        if (takesForm(node)) {
            RETURN_IF_ERROR(check(
                place, isCast(node) || node.op == ExprOp::kConcat ? "a text of" : node.name + " of",
                origin));
        }
        return dropsForm(node) ? "" : origin;
    }

    Status check(const std::string& place, const std::string& use,
                 const std::string& column) const {
        return column.empty() ? okStatus()
                              : invalidArgument(place, ": ", use, " column '", column,
                                                "' depends on its type; it ", columns_.at(column));
    }

    MixedColumns columns_;
};

}  // namespace

Status checkMixed(const spec::RunSpec& spec, const MixedColumns& train, const MixedColumns& eval) {
    Mixing own(train);
    RETURN_IF_ERROR(own.expression("dataset.where", spec.dataset.where));
    RETURN_IF_ERROR(own.recipe(spec.recipe, "recipe"));
    for (const auto& [head, label] : spec.labels) {
        for (const std::string* text : {&label.expr, &label.where, &label.weight}) {
            RETURN_IF_ERROR(own.expression(strCat("labels.", head), *text));
        }
    }
    if (!spec.eval) {
        return okStatus();
    }
    Mixing other(eval);
    RETURN_IF_ERROR(other.expression("eval.dataset.where", spec.eval->dataset.where));
    return other.recipe(spec.eval->recipe, "eval.recipe");
}

}  // namespace millrace::recipe

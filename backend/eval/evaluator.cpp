#include "backend/eval/evaluator.h"

#include <cmath>
#include <functional>
#include <map>

#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/dictionary_values.h"
#include "backend/eval/zip_rows.h"

namespace millrace::eval {
namespace {

using expr::ExprNode;
using expr::ExprOp;

/// Some rows of another input.
class SubsetInput : public ExprInput {
 public:
    SubsetInput(ExprInput& whole, ArrayPtr indices) : whole_(whole), indices_(std::move(indices)) {}
    std::int64_t rows() const override { return indices_->length(); }
    Result<ArrayPtr> column(const std::string& name) override {
        ASSIGN_OR_RETURN(const ArrayPtr all, whole_.column(name));
        return takeRows(all, indices_);
    }
    Result<ArrayPtr> storedColumn(const std::string& name) override {
        ASSIGN_OR_RETURN(const ArrayPtr all, whole_.storedColumn(name));
        return takeRows(all, indices_);
    }

 private:
    ExprInput& whole_;
    const ArrayPtr indices_;
};

/// The first rows of another input.
class PrefixInput : public ExprInput {
 public:
    PrefixInput(ExprInput& whole, std::int64_t rows) : whole_(whole), rows_(rows) {}
    std::int64_t rows() const override { return rows_; }
    Result<ArrayPtr> column(const std::string& name) override {
        ASSIGN_OR_RETURN(const ArrayPtr all, whole_.column(name));
        return all->Slice(0, rows_);
    }
    Result<ArrayPtr> storedColumn(const std::string& name) override {
        ASSIGN_OR_RETURN(const ArrayPtr all, whole_.storedColumn(name));
        return all->Slice(0, rows_);
    }

 private:
    ExprInput& whole_;
    const std::int64_t rows_;
};

bool isFloating(const expr::DataType& type) {
    return !type.isList &&
           (type.kind == expr::TypeKind::kFloat || type.kind == expr::TypeKind::kDouble);
}

/// NaN equals NaN and is larger than every number, as in DuckDB.
template <class T>
int orderOf(T a, T b) {
    const bool isNanA = std::isnan(a), isNanB = std::isnan(b);
    if (isNanA || isNanB) {
        return static_cast<int>(isNanA) - static_cast<int>(isNanB);
    }
    return a < b ? -1 : a > b ? 1 : 0;
}

bool holds(ExprOp op, int order) {
    switch (op) {
        case ExprOp::kEqual:
            return order == 0;
        case ExprOp::kNotEqual:
            return order != 0;
        case ExprOp::kLess:
            return order < 0;
        case ExprOp::kLessEqual:
            return order <= 0;
        case ExprOp::kGreater:
            return order > 0;
        default:
            return order >= 0;
    }
}

template <class ArrowType>
Result<Datum> compareFloats(ExprOp op, const arrow::Array& a, const arrow::Array& b) {
    arrow::BooleanBuilder builder;
    return zipRows<typename arrow::TypeTraits<ArrowType>::ArrayType>(
        a, b, builder, [&](auto x, auto y) { builder.UnsafeAppend(holds(op, orderOf(x, y))); });
}

template <class ArrowType>
Result<Datum> divideFloats(ExprOp op, const arrow::Array& a, const arrow::Array& b) {
    using Traits = arrow::TypeTraits<ArrowType>;
    typename Traits::BuilderType builder;
    return zipRows<typename Traits::ArrayType>(a, b, builder, [&](auto x, auto y) {
        if (y == 0) {
            builder.UnsafeAppendNull();
        } else {
            builder.UnsafeAppend(op == ExprOp::kModulo      ? std::fmod(x, y)
                                 : op == ExprOp::kIntDivide ? std::floor(x / y)
                                                            : x / y);
        }
    });
}

const char* comparisonName(ExprOp op) {
    switch (op) {
        case ExprOp::kEqual:
            return "equal";
        case ExprOp::kNotEqual:
            return "not_equal";
        case ExprOp::kLess:
            return "less";
        case ExprOp::kLessEqual:
            return "less_equal";
        case ExprOp::kGreater:
            return "greater";
        default:
            return "greater_equal";
    }
}

class Evaluator {
 public:
    explicit Evaluator(ExprInput& input) : input_(input) {}

    Result<Datum> eval(const ExprNode& node) {
        if (auto looked = evaluateEntries(node, input_, evaluateAllOf)) {
            return Datum(*std::move(looked));
        }
        switch (node.op) {
            case ExprOp::kLiteral:
                return literal(node);
            case ExprOp::kColumn: {
                ASSIGN_OR_RETURN(ArrayPtr array, input_.column(node.name));
                return Datum(std::move(array));
            }
            case ExprOp::kCase:
                return caseWhen(node);
            case ExprOp::kAnd:
            case ExprOp::kOr:
                return logic(node);
            case ExprOp::kCall:
                return call(node);
            default:
                return operation(node);
        }
    }

    static Result<ArrayPtr> evaluateAllOf(const ExprNode& node, ExprInput& input) {
        ASSIGN_OR_RETURN(const Datum value, Evaluator(input).eval(node));
        return asArray(value, input.rows());
    }

 private:
    static Result<Datum> literal(const ExprNode& node) {
        if (std::holds_alternative<std::monostate>(node.literal)) {
            return nullOf(node.type);
        }
        std::shared_ptr<arrow::Scalar> scalar;
        if (const auto* text = std::get_if<std::string>(&node.literal)) {
            scalar = std::make_shared<arrow::StringScalar>(*text);
        } else if (const auto* flag = std::get_if<bool>(&node.literal)) {
            scalar = std::make_shared<arrow::BooleanScalar>(*flag);
        } else if (const auto* integer = std::get_if<std::int64_t>(&node.literal)) {
            scalar = std::make_shared<arrow::Int64Scalar>(*integer);
        } else {
            scalar = std::make_shared<arrow::DoubleScalar>(std::get<double>(node.literal));
        }
        const std::shared_ptr<arrow::DataType> type = arrays::toArrowType(node.type);
        if (type == nullptr || scalar->type->Equals(*type)) {
            return Datum(scalar);
        }
        ASSIGN_OR_RETURN(const ArrayPtr one, asArray(Datum(scalar), 1));
        expr::DataType from;
        arrays::toSpecType(*scalar->type, from);
        ASSIGN_OR_RETURN(const ArrayPtr pinned, castValues(one, from, node.type, false));
        return Datum(*pinned->GetScalar(0));
    }

    Result<Datum> operation(const ExprNode& node) {
        std::vector<Datum> c;
        for (const expr::Expr& child : node.children) {
            ASSIGN_OR_RETURN(Datum value, eval(*child));
            c.push_back(std::move(value));
        }
        switch (node.op) {
            case ExprOp::kNegate:
                return callKernel("negate_checked", c);
            case ExprOp::kAdd:
                return callKernel("add_checked", c);
            case ExprOp::kSubtract:
                return callKernel("subtract_checked", c);
            case ExprOp::kMultiply:
                return callKernel("multiply_checked", c);
            case ExprOp::kDivide:
            case ExprOp::kIntDivide:
            case ExprOp::kModulo:
                return divide(node, c);
            case ExprOp::kEqual:
            case ExprOp::kNotEqual:
            case ExprOp::kLess:
            case ExprOp::kLessEqual:
            case ExprOp::kGreater:
            case ExprOp::kGreaterEqual:
                return compare(node.op, node.children[0]->type, c[0], c[1]);
            case ExprOp::kNot:
                return callKernel("invert", c);
            case ExprOp::kIsNull:
                return callKernel("is_null", c);
            case ExprOp::kIsNotNull:
                return callKernel("is_valid", c);
            case ExprOp::kIn:
                return in(node, c);
            case ExprOp::kLike: {
                const arrow::compute::MatchSubstringOptions options(
                    std::get<std::string>(node.children[1]->literal));
                return callKernel("match_like", {c[0]}, &options);
            }
            case ExprOp::kConcat: {
                c.emplace_back(arrow::StringScalar(""));
                return callKernel("binary_join_element_wise", c);
            }
            case ExprOp::kCast:
            case ExprOp::kTryCast: {
                ASSIGN_OR_RETURN(const ArrayPtr values, asArray(c[0], input_.rows()));
                ASSIGN_OR_RETURN(ArrayPtr cast, castValues(values, node.children[0]->type,
                                                           node.type, node.op == ExprOp::kTryCast));
                return Datum(std::move(cast));
            }
            default:
                return internalError("operation ", static_cast<int>(node.op));
        }
    }

    Result<Datum> divide(const ExprNode& node, const std::vector<Datum>& c) {
        if (isFloating(node.type)) {
            ASSIGN_OR_RETURN(const ArrayPtr a, asArray(c[0], input_.rows()));
            ASSIGN_OR_RETURN(const ArrayPtr b, asArray(c[1], input_.rows()));
            return node.type.kind == expr::TypeKind::kFloat
                       ? divideFloats<arrow::FloatType>(node.op, *a, *b)
                       : divideFloats<arrow::DoubleType>(node.op, *a, *b);
        }
        const std::shared_ptr<arrow::DataType> type = arrays::toArrowType(node.type);
        ASSIGN_OR_RETURN(const Datum zeros, zeroOf(node.type));
        ASSIGN_OR_RETURN(const Datum isZero, callKernel("equal", {c[1], zeros}));
        ASSIGN_OR_RETURN(const Datum divisor,
                         choose(isZero, Datum(arrow::MakeNullScalar(type)), c[1]));
        if (node.op == ExprOp::kIntDivide) {
            return callKernel("divide_checked", {c[0], divisor});
        }
        // As in DuckDB min % -1 overflows, because min / -1 does.
        ASSIGN_OR_RETURN(const Datum quotient, callKernel("divide_checked", {c[0], divisor}));
        ASSIGN_OR_RETURN(const Datum whole, callKernel("multiply", {quotient, divisor}));
        return callKernel("subtract", {c[0], whole});
    }

    static Result<Datum> zeroOf(const expr::DataType& type) {
        ExprNode node;
        node.type = type;
        node.literal = std::int64_t{0};
        return literal(node);
    }

    Result<Datum> compare(ExprOp op, const expr::DataType& type, const Datum& a, const Datum& b) {
        if (!isFloating(type)) {
            return callKernel(comparisonName(op), {a, b});
        }
        ASSIGN_OR_RETURN(const ArrayPtr left, asArray(a, input_.rows()));
        ASSIGN_OR_RETURN(const ArrayPtr right, asArray(b, input_.rows()));
        return type.kind == expr::TypeKind::kFloat
                   ? compareFloats<arrow::FloatType>(op, *left, *right)
                   : compareFloats<arrow::DoubleType>(op, *left, *right);
    }

    Result<Datum> in(const ExprNode& node, const std::vector<Datum>& c) {
        bool areLiterals = !isFloating(node.children[0]->type) && c.size() > 4;
        for (std::size_t i = 1; i < c.size(); ++i) {
            areLiterals &= node.children[i]->op == ExprOp::kLiteral;
        }
        if (areLiterals) {
            return inSet(node, c);
        }
        ASSIGN_OR_RETURN(Datum any, compare(ExprOp::kEqual, node.children[0]->type, c[0], c[1]));
        for (std::size_t i = 2; i < c.size(); ++i) {
            ASSIGN_OR_RETURN(const Datum one,
                             compare(ExprOp::kEqual, node.children[0]->type, c[0], c[i]));
            ASSIGN_OR_RETURN(any, callKernel("or_kleene", {any, one}));
        }
        return any;
    }

    Result<Datum> inSet(const ExprNode& node, const std::vector<Datum>& c) {
        std::unique_ptr<arrow::ArrayBuilder> builder;
        bool hasNull = false;
        arrow::Status status =
            arrow::MakeBuilder(arrow::default_memory_pool(), c[0].type(), &builder);
        for (std::size_t i = 1; i < c.size() && status.ok(); ++i) {
            if (c[i].scalar()->is_valid) {
                status = builder->AppendScalar(*c[i].scalar());
            } else {
                hasNull = true;
            }
        }
        std::shared_ptr<arrow::Array> set;
        if (status.ok()) {
            status = builder->Finish(&set);
        }
        RETURN_IF_ERROR(arrays::fromArrow(status, "in"));
        const arrow::compute::SetLookupOptions options(Datum(set), /*skip_nulls=*/true);
        ASSIGN_OR_RETURN(const Datum found, callKernel("is_in", {c[0]}, &options));
        ASSIGN_OR_RETURN(const Datum none, nullOf({expr::TypeKind::kBool}));
        ASSIGN_OR_RETURN(const Datum isNull, callKernel("is_null", {c[0]}));
        ASSIGN_OR_RETURN(const Datum known, choose(isNull, none, found));
        if (!hasNull) {
            return known;
        }
        (void)node;
        return choose(found, found, none);
    }

    /// Evaluates `node`; where that fails, again for the rows of `mask` alone (others are null).
    Result<Datum> evalWhere(const ExprNode& node, const std::function<Result<Datum>()>& mask) {
        Result<Datum> all = eval(node);
        if (all.ok() || all.status().code() != absl::StatusCode::kInvalidArgument) {
            return all;
        }
        ASSIGN_OR_RETURN(const Datum wanted, mask());
        ASSIGN_OR_RETURN(const ArrayPtr flags, asArray(wanted, input_.rows()));
        const auto& isWanted = static_cast<const arrow::BooleanArray&>(*flags);
        arrow::Int64Builder rows, back;
        std::int64_t count = 0;
        arrow::Status status;
        for (std::int64_t i = 0; i < flags->length() && status.ok(); ++i) {
            if (isWanted.IsValid(i) && isWanted.Value(i)) {
                status = rows.Append(i);
                status &= back.Append(count++);
            } else {
                status = back.AppendNull();
            }
        }
        ArrayPtr indices, scatter;
        if (status.ok()) {
            status = rows.Finish(&indices);
            status &= back.Finish(&scatter);
        }
        RETURN_IF_ERROR(arrays::fromArrow(status, "case"));
        SubsetInput subset(input_, indices);
        Evaluator inner(subset);
        ASSIGN_OR_RETURN(const Datum some, inner.eval(node));
        ASSIGN_OR_RETURN(const ArrayPtr values, asArray(some, subset.rows()));
        ASSIGN_OR_RETURN(ArrayPtr spread, takeRows(values, scatter));
        return Datum(std::move(spread));
    }

    Result<Datum> logic(const ExprNode& node) {
        const bool isAnd = node.op == ExprOp::kAnd;
        ASSIGN_OR_RETURN(const Datum left, eval(*node.children[0]));
        const auto undecided = [&]() -> Result<Datum> {
            ASSIGN_OR_RETURN(const Datum known,
                             callKernel("coalesce", {left, Datum(arrow::BooleanScalar(isAnd))}));
            return isAnd ? Result<Datum>(known) : callKernel("invert", {known});
        };
        ASSIGN_OR_RETURN(const Datum right, evalWhere(*node.children[1], undecided));
        return callKernel(isAnd ? "and_kleene" : "or_kleene", {left, right});
    }

    Result<Datum> caseWhen(const ExprNode& node) {
        const std::size_t branches = node.children.size() / 2;
        std::vector<Datum> conditions, values;
        Datum open{arrow::BooleanScalar(true)};  // rows that no condition so far has taken
        for (std::size_t i = 0; i < branches; ++i) {
            ASSIGN_OR_RETURN(const Datum raw,
                             evalWhere(*node.children[2 * i], [&] { return Result<Datum>(open); }));
            ASSIGN_OR_RETURN(const Datum sure,
                             callKernel("coalesce", {raw, Datum(arrow::BooleanScalar(false))}));
            ASSIGN_OR_RETURN(Datum value, evalWhere(*node.children[2 * i + 1], [&] {
                                 return callKernel("and_kleene", {open, sure});
                             }));
            ASSIGN_OR_RETURN(open, callKernel("and_not_kleene", {open, sure}));
            conditions.push_back(sure);
            values.push_back(std::move(value));
        }
        ASSIGN_OR_RETURN(Datum result,
                         evalWhere(*node.children.back(), [&] { return Result<Datum>(open); }));
        for (std::size_t i = branches; i-- > 0;) {
            ASSIGN_OR_RETURN(result, callKernel("if_else", {conditions[i], values[i], result}));
        }
        return result;
    }

    Result<Datum> call(const ExprNode& node) {
        std::vector<Datum> arguments;
        if (node.function->id == expr::FunctionId::kCoalesce) {
            return coalesce(node);
        }
        for (const expr::Expr& child : node.children) {
            ASSIGN_OR_RETURN(Datum value, eval(*child));
            arguments.push_back(std::move(value));
        }
        return callFunction(node, arguments, input_.rows());
    }

    Result<Datum> coalesce(const ExprNode& node) {
        ASSIGN_OR_RETURN(Datum result, eval(*node.children[0]));
        for (std::size_t i = 1; i < node.children.size(); ++i) {
            ASSIGN_OR_RETURN(const Datum next, evalWhere(*node.children[i], [&] {
                                 return callKernel("is_null", {result});
                             }));
            ASSIGN_OR_RETURN(result, callKernel("coalesce", {result, next}));
        }
        return result;
    }

    ExprInput& input_;
};

Result<ArrayPtr> evaluateAll(const expr::Expr& expr, ExprInput& input) {
    return Evaluator::evaluateAllOf(*expr, input);
}

/// Columns of no rows, to try expressions on.
class EmptyInput : public ExprInput {
 public:
    explicit EmptyInput(const expr::Schema& schema) : schema_(schema) {}
    std::int64_t rows() const override { return 0; }
    Result<ArrayPtr> column(const std::string& name) override {
        const expr::Field* field = schema_.find(name);
        if (field == nullptr) {
            return internalError("no column ", name);
        }
        return arrays::nullArray(field->type, 0, arrow::default_memory_pool());
    }

 private:
    const expr::Schema& schema_;
};

Result<expr::Expr> checked(Result<expr::Expr> expr, const expr::Schema& schema,
                           const std::string& place) {
    RETURN_IF_ERROR(annotate(expr.status(), place));
    EmptyInput input(schema);
    RETURN_IF_ERROR(annotate(evaluateAll(*expr, input).status(), place));
    return expr;
}

}  // namespace

Result<ArrayPtr> evaluate(const expr::Expr& expr, ExprInput& input, std::int64_t* failedRow) {
    Result<ArrayPtr> result = evaluateAll(expr, input);
    if (failedRow == nullptr) {
        return result;
    }
    *failedRow = -1;
    if (result.ok() || result.status().code() != absl::StatusCode::kInvalidArgument ||
        input.rows() == 0) {
        return result;
    }
    // Which row fails: the shortest prefix that still does, by bisection.
    std::int64_t good = 0, bad = input.rows();
    while (bad - good > 1) {
        const std::int64_t middle = good + (bad - good) / 2;
        PrefixInput prefix(input, middle);
        if (evaluateAll(expr, prefix).ok()) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    *failedRow = bad - 1;
    return result;
}

Result<expr::Expr> compileChecked(const std::string& text, const expr::Schema& schema,
                                  const std::string& place) {
    return checked(expr::compileExpression(text, schema), schema, place);
}

Result<expr::Expr> compileCheckedPredicate(const std::string& text, const expr::Schema& schema,
                                           const std::string& place) {
    return checked(expr::compilePredicate(text, schema, place), schema, place);
}

}  // namespace millrace::eval

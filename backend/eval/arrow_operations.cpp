#include "backend/eval/arrow_operations.h"

#include <memory>

#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/eval/evaluator.h"
#include "backend/eval/function_calls.h"
#include "backend/eval/text_search.h"

namespace millrace::eval {
namespace {

using expr::ExprNode;
using expr::ExprOp;

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

Result<Datum> zeroOf(const expr::DataType& type) {
    ExprNode node;
    node.type = type;
    node.literal = std::int64_t{0};
    return literalScalar(node);
}

/// Integer division and remainder.
Result<Datum> divide(const ExprNode& node, const std::vector<Datum>& c) {
    const std::shared_ptr<arrow::DataType> type = arrays::toArrowType(node.type);
    ASSIGN_OR_RETURN(const Datum zeros, zeroOf(node.type));
    ASSIGN_OR_RETURN(const Datum isZero, callKernel("equal", {c[1], zeros}));
    ASSIGN_OR_RETURN(const Datum divisor, choose(isZero, Datum(arrow::MakeNullScalar(type)), c[1]));
    if (node.op == ExprOp::kIntDivide) {
        return callKernel("divide_checked", {c[0], divisor});
    }
    // min % -1 overflows because min / -1 does, like in DuckDB.
    ASSIGN_OR_RETURN(const Datum quotient, callKernel("divide_checked", {c[0], divisor}));
    ASSIGN_OR_RETURN(const Datum whole, callKernel("multiply", {quotient, divisor}));
    return callKernel("subtract", {c[0], whole});
}

Result<Datum> inSet(const std::vector<Datum>& c) {
    std::unique_ptr<arrow::ArrayBuilder> builder;
    bool hasNull = false;
    arrow::Status status = arrow::MakeBuilder(evaluationPool(), c[0].type(), &builder);
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
    return choose(found, found, none);
}

Result<Datum> in(const ExprNode& node, const std::vector<Datum>& c) {
    constexpr std::size_t kFewCandidates = 4;
    bool areLiterals = c.size() > kFewCandidates;
    for (std::size_t i = 1; i < c.size(); ++i) {
        areLiterals &= node.children[i]->op == ExprOp::kLiteral;
    }
    if (areLiterals) {
        return inSet(c);
    }
    ASSIGN_OR_RETURN(Datum any, callKernel("equal", {c[0], c[1]}));
    for (std::size_t i = 2; i < c.size(); ++i) {
        ASSIGN_OR_RETURN(const Datum one, callKernel("equal", {c[0], c[i]}));
        ASSIGN_OR_RETURN(any, callKernel("or_kleene", {any, one}));
    }
    return any;
}

}  // namespace

Result<Datum> literalScalar(const ExprNode& node) {
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

Result<Datum> evaluateByArrow(const ExprNode& node, const std::vector<Datum>& c,
                              std::int64_t rows) {
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
            return callKernel(comparisonName(node.op), c);
        case ExprOp::kIn:
            return in(node, c);
        case ExprOp::kLike:
            return likeTexts(c[0], std::get<std::string>(node.children[1]->literal));
        case ExprOp::kConcat:
            return joinTexts(c, rows, /*skipsNulls=*/false);
        case ExprOp::kCast:
        case ExprOp::kTryCast: {
            ASSIGN_OR_RETURN(const ArrayPtr values, asArray(c[0], rows));
            ASSIGN_OR_RETURN(ArrayPtr cast, castValues(values, node.children[0]->type, node.type,
                                                       node.op == ExprOp::kTryCast));
            return Datum(std::move(cast));
        }
        case ExprOp::kCall:
            return callFunction(node, c, rows);
        default:
            return internalError("operation ", static_cast<int>(node.op));
    }
}

}  // namespace millrace::eval

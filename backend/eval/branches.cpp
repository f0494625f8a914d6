// Evaluates operands only for the rows that need them: and, or, case, coalesce.
//
// A cheap operand is evaluated for all rows, which is faster than selecting some. If that fails, or
// if the operand is expensive, it is evaluated for the needed rows only.
#include "backend/eval/branches.h"

#include <cstring>

#include <arrow/array/array_primitive.h>
#include <arrow/buffer.h>
#include <arrow/scalar.h>

namespace millrace::eval {
namespace {

using Kind = ProgramNode::Kind;
using expr::ExprOp;

/// Nanoseconds per value, roughly; gathering a row's operands and scattering its value cost as
/// much.
constexpr int kCheap = 8;

void knowns(const Values& values, std::int64_t n, std::uint8_t* out) {
    if (!values.isConstant && values.valid != nullptr) {
        std::memcpy(out, values.valid, static_cast<std::size_t>(n));
    } else {
        std::memset(out, values.isAllNull() ? 0 : 1, static_cast<std::size_t>(n));
    }
}

alignas(8) constexpr std::uint8_t kZeros[8] = {};

}  // namespace

/// The node's values where `wanted` is 1; undefined elsewhere.
Result<Values> Branches::evalWhere(ProgramRun::Frame& frame, int id, const std::uint8_t* wanted) {
    const ProgramNode& node = run_.program().node(id);
    const std::int64_t n = frame.n;
    if (n == 0 || node.kind == Kind::kConstant || node.kind == Kind::kColumn) {
        return run_.eval(frame, id);
    }
    const std::int64_t count = countOnes(wanted, n);
    if (count == n) {
        return run_.eval(frame, id);
    }
    if (count == 0 && node.lane != Lane::kOther) {
        Values none;
        none.lane = node.lane;
        none.isConstant = true;
        none.data = kZeros;
        return none;
    }
    if (node.cost < kCheap || count > n - n / 4) {
        Result<Values> values = run_.eval(frame, id);
        if (values.ok() || values.status().code() != absl::StatusCode::kInvalidArgument) {
            return values;
        }
    }
    return evalSome(frame, id, wanted, count);
}

Result<Values> Branches::evalSome(ProgramRun::Frame& frame, int id, const std::uint8_t* wanted,
                                  std::int64_t count) {
    std::vector<std::int64_t> rows;
    rows.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < frame.n; ++i) {
        if (wanted[i] != 0) {
            rows.push_back(i);
        }
    }
    ProgramRun::Frame some;
    some.parent = &frame;
    some.rows = rows.data();
    some.n = count;
    some.rowsArray = std::make_shared<arrow::Int64Array>(count, arrow::Buffer::Wrap(rows));
    ASSIGN_OR_RETURN(const Values values, run_.eval(some, id));
    return run_.memory().scatter(values, rows, frame.n);
}

Result<Values> Branches::logic(ProgramRun::Frame& frame, int id) {
    const ProgramNode& node = run_.program().node(id);
    const bool isAnd = node.expr->op == ExprOp::kAnd;
    const std::int64_t n = frame.n;
    ASSIGN_OR_RETURN(const Values left, run_.eval(frame, node.children[0]));
    // The rows that each side makes true; the right side matters only where the left does not
    // decide.
    ASSIGN_OR_RETURN(const auto leftTrue, run_.memory().block(/*isMask=*/true));
    ASSIGN_OR_RETURN(const auto open, run_.memory().block(/*isMask=*/true));
    RETURN_IF_ERROR(run_.memory().truths(left, n, leftTrue->mutable_data()));
    const std::uint8_t* const isLeft = leftTrue->data();
    const std::uint8_t* const leftValid = left.valid;
    std::uint8_t* const isOpen = open->mutable_data();
    if (!isAnd) {
        eachRow(isa_, n, [=](std::int64_t i) MILLRACE_ROW {
            isOpen[i] = static_cast<std::uint8_t>(isLeft[i] ^ 1);
        });
    } else if (left.isAllNull()) {
        std::memset(isOpen, 1, static_cast<std::size_t>(n));
    } else if (leftValid == nullptr) {
        std::memcpy(isOpen, isLeft, static_cast<std::size_t>(n));
    } else {
        eachRow(isa_, n, [=](std::int64_t i) MILLRACE_ROW {
            isOpen[i] = static_cast<std::uint8_t>(isLeft[i] | (leftValid[i] ^ 1));
        });
    }
    ASSIGN_OR_RETURN(const Values right, evalWhere(frame, node.children[1], isOpen));
    ASSIGN_OR_RETURN(const auto rightTrue, run_.memory().block(/*isMask=*/true));
    RETURN_IF_ERROR(run_.memory().truths(right, n, rightTrue->mutable_data()));
    const std::uint8_t* const isRight = rightTrue->data();
    Values result;
    result.lane = Lane::kBool;
    ASSIGN_OR_RETURN(result.dataHeld, run_.memory().block(/*isMask=*/true));
    std::uint8_t* const out = result.dataHeld->mutable_data();
    result.data = out;
    // A right side that was not evaluated acts as false in `and`; in `or` the left is then true.
    eachRow(isa_, n, [=](std::int64_t i) MILLRACE_ROW {
        const int both = isLeft[i] & isRight[i], any = isLeft[i] | isRight[i];
        out[i] = static_cast<std::uint8_t>(isAnd ? both : any);
    });
    const bool hasNulls =
        left.isAllNull() || right.isAllNull() || leftValid != nullptr || right.valid != nullptr;
    if (!hasNulls) {
        return result;
    }
    ASSIGN_OR_RETURN(result.validHeld, run_.memory().block(/*isMask=*/true));
    std::uint8_t* const valid = result.validHeld->mutable_data();
    ASSIGN_OR_RETURN(const auto leftKnown, run_.memory().block(/*isMask=*/true));
    ASSIGN_OR_RETURN(const auto rightKnown, run_.memory().block(/*isMask=*/true));
    knowns(left, n, leftKnown->mutable_data());
    knowns(right, n, rightKnown->mutable_data());
    const std::uint8_t* const knowsLeft = leftKnown->data();
    const std::uint8_t* const knowsRight = rightKnown->data();
    // Null unless both sides are known, or the known side decides.
    eachRow(isa_, n, [=](std::int64_t i) MILLRACE_ROW {
        const int isFalse =
            (knowsLeft[i] & (isLeft[i] ^ 1)) | (isOpen[i] & knowsRight[i] & (isRight[i] ^ 1));
        const int isTrue = isLeft[i] | (isOpen[i] & isRight[i]);
        valid[i] =
            static_cast<std::uint8_t>((knowsLeft[i] & knowsRight[i]) | (isAnd ? isFalse : isTrue));
    });
    result.valid = valid;
    return result;
}

Result<Values> Branches::caseWhen(ProgramRun::Frame& frame, int id) {
    const ProgramNode& node = run_.program().node(id);
    if (node.lane == Lane::kOther) {
        return caseByArrow(frame, id);
    }
    const std::int64_t n = frame.n;
    ASSIGN_OR_RETURN(Values result, run_.newValues(frame, id));
    ASSIGN_OR_RETURN(const auto open, run_.memory().block(/*isMask=*/true));
    ASSIGN_OR_RETURN(const auto taken, run_.memory().block(/*isMask=*/true));
    std::uint8_t* const isOpen = open->mutable_data();
    std::uint8_t* const isTaken = taken->mutable_data();
    std::memset(isOpen, 1, static_cast<std::size_t>(n));
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
        ASSIGN_OR_RETURN(const Values condition, evalWhere(frame, node.children[i], isOpen));
        RETURN_IF_ERROR(run_.memory().truths(condition, n, isTaken));
        eachRow(isa_, n, [=](std::int64_t k) MILLRACE_ROW {
            isTaken[k] = static_cast<std::uint8_t>(isTaken[k] & isOpen[k]);
            isOpen[k] = static_cast<std::uint8_t>(isOpen[k] ^ isTaken[k]);
        });
        ASSIGN_OR_RETURN(const Values value, evalWhere(frame, node.children[i + 1], isTaken));
        RETURN_IF_ERROR(run_.memory().take(result, value, isTaken, n));
    }
    ASSIGN_OR_RETURN(const Values rest, evalWhere(frame, node.children.back(), isOpen));
    RETURN_IF_ERROR(run_.memory().take(result, rest, isOpen, n));
    return result;
}

/// For texts, lists and decimals.
Result<Values> Branches::caseByArrow(ProgramRun::Frame& frame, int id) {
    const ProgramNode& node = run_.program().node(id);
    const std::int64_t n = frame.n;
    const auto valueOf = [&](std::size_t child, const std::uint8_t* rows) -> Result<Datum> {
        ASSIGN_OR_RETURN(const Values value, evalWhere(frame, node.children[child], rows));
        return run_.memory().toDatum(value, node.expr->children[child]->type, n);
    };
    std::vector<Datum> conditions, values;
    ASSIGN_OR_RETURN(const auto open, run_.memory().block(/*isMask=*/true));
    std::uint8_t* const isOpen = open->mutable_data();
    std::memset(isOpen, 1, static_cast<std::size_t>(n));
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
        ASSIGN_OR_RETURN(const Values condition, evalWhere(frame, node.children[i], isOpen));
        Values sure;
        sure.lane = Lane::kBool;
        ASSIGN_OR_RETURN(sure.dataHeld, run_.memory().block(/*isMask=*/true));
        std::uint8_t* const isTaken = sure.dataHeld->mutable_data();
        sure.data = isTaken;
        RETURN_IF_ERROR(run_.memory().truths(condition, n, isTaken));
        eachRow(isa_, n, [=](std::int64_t k) MILLRACE_ROW {
            isTaken[k] = static_cast<std::uint8_t>(isTaken[k] & isOpen[k]);
            isOpen[k] = static_cast<std::uint8_t>(isOpen[k] ^ isTaken[k]);
        });
        ASSIGN_OR_RETURN(Datum value, valueOf(i + 1, isTaken));
        ASSIGN_OR_RETURN(Datum flags, run_.memory().toDatum(sure, {expr::TypeKind::kBool}, n));
        conditions.push_back(std::move(flags));
        values.push_back(std::move(value));
    }
    ASSIGN_OR_RETURN(Datum result, valueOf(node.children.size() - 1, isOpen));
    for (std::size_t i = values.size(); i-- > 0;) {
        ASSIGN_OR_RETURN(result, callKernel("if_else", {conditions[i], values[i], result}));
    }
    return run_.memory().fromDatum(node.expr->type, result, n);
}

Result<Values> Branches::coalesce(ProgramRun::Frame& frame, int id) {
    const ProgramNode& node = run_.program().node(id);
    const std::int64_t n = frame.n;
    ASSIGN_OR_RETURN(Values result, run_.eval(frame, node.children[0]));
    ASSIGN_OR_RETURN(const auto missing, run_.memory().block(/*isMask=*/true));
    std::uint8_t* const isMissing = missing->mutable_data();
    bool isOwn = false;
    for (std::size_t i = 1; i < node.children.size(); ++i) {
        if (node.lane == Lane::kOther) {
            ASSIGN_OR_RETURN(result, filledByArrow(frame, id, i, result));
            continue;
        }
        const std::uint8_t* const valid = result.valid;
        if (result.isAllNull()) {
            ASSIGN_OR_RETURN(result, run_.eval(frame, node.children[i]));
            continue;
        }
        if (valid == nullptr) {
            if (n > 0) {
                break;
            }
            RETURN_IF_ERROR(run_.eval(frame, node.children[i]).status());  // no rows: only for its
                                                                           // error
            continue;
        }
        eachRow(isa_, n, [=](std::int64_t k) MILLRACE_ROW {
            isMissing[k] = static_cast<std::uint8_t>(valid[k] ^ 1);
        });
        ASSIGN_OR_RETURN(const Values next, evalWhere(frame, node.children[i], isMissing));
        if (!isOwn) {
            ASSIGN_OR_RETURN(Values own, run_.newValues(frame, id));
            std::memcpy(const_cast<void*>(own.data), result.data,
                        static_cast<std::size_t>(n * laneBytes(node.lane)));
            ASSIGN_OR_RETURN(own.validHeld, run_.memory().block(/*isMask=*/true));
            std::memcpy(own.validHeld->mutable_data(), valid, static_cast<std::size_t>(n));
            own.valid = own.validHeld->data();
            result = std::move(own);
            isOwn = true;
        }
        RETURN_IF_ERROR(run_.memory().take(result, next, isMissing, n));
        if (!next.isAllNull() && next.valid == nullptr) {
            result.valid = nullptr;
        }
    }
    return result;
}

/// For texts, lists and decimals: fills the nulls of `some` from the next operand.
Result<Values> Branches::filledByArrow(ProgramRun::Frame& frame, int id, std::size_t child,
                                       const Values& some) {
    const ProgramNode& node = run_.program().node(id);
    ASSIGN_OR_RETURN(const Datum first, run_.memory().toDatum(some, node.expr->type, frame.n));
    ASSIGN_OR_RETURN(const auto missing, run_.memory().block(/*isMask=*/true));
    std::uint8_t* const isMissing = missing->mutable_data();
    if (first.is_array()) {
        const ArrayPtr array = first.make_array();
        for (std::int64_t k = 0; k < frame.n; ++k) {
            isMissing[k] = array->IsNull(k) ? 1 : 0;
        }
    } else {
        std::memset(isMissing, first.scalar()->is_valid ? 0 : 1, static_cast<std::size_t>(frame.n));
    }
    ASSIGN_OR_RETURN(const Values next, evalWhere(frame, node.children[child], isMissing));
    ASSIGN_OR_RETURN(const Datum second, run_.memory().toDatum(next, node.expr->type, frame.n));
    ASSIGN_OR_RETURN(const Datum filled, callKernel("coalesce", {first, second}));
    return run_.memory().fromDatum(node.expr->type, filled, frame.n);
}

}  // namespace millrace::eval

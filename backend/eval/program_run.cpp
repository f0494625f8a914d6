#include "backend/eval/program_run.h"

#include <algorithm>
#include <cstring>

#include <arrow/array/array_primitive.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/arrow_operations.h"
#include "backend/eval/branches.h"
#include "backend/eval/dictionary_values.h"
#include "backend/eval/evaluation_pool.h"

namespace millrace::eval {
namespace {

using Kind = ProgramNode::Kind;
using expr::ExprOp;

/// Eight vectors of this many doubles fit into a core's second-level cache.
constexpr std::int64_t kMorselRows = 8192;

std::size_t sizeOf(std::int64_t n) {
    return static_cast<std::size_t>(n);
}

template <class T>
void clearNulls(std::uint8_t* values, const std::uint8_t* valid, std::int64_t n) {
    auto* const out = reinterpret_cast<T*>(values);
    eachRow(machineIsa(), n,
            [=](std::int64_t i) MILLRACE_ROW { out[i] = valid[i] != 0 ? out[i] : T{0}; });
}

}  // namespace

ProgramRun::ProgramRun(const Program& program, ExprInput& input, Isa isa, int root)
    : program_(program), input_(input), isa_(isa), root_(root), memory_(isa) {}

bool ProgramRun::isLeaf(int id) const {
    return program_.node(id).kind == Kind::kColumn || leaves_.contains(id);
}

// Looks up the largest parts of the expression for which that is possible.
void ProgramRun::lookUpTexts(int id) {
    const ProgramNode& node = program_.node(id);
    if (node.kind == Kind::kConstant || leaves_.contains(id)) {
        return;
    }
    if (node.text == nullptr) {
        for (const int child : node.children) {
            lookUpTexts(child);
        }
        return;
    }
    const auto evaluate = [&](ExprInput& entries) { return program_.runNode(id, entries, isa_); };
    if (std::optional<ArrayPtr> values = evaluateEntries(*node.text, input_, evaluate)) {
        leaves_.emplace(id, *std::move(values));
    }
}

Result<Values> ProgramRun::evaluateConstant(int id) {
    memory_.setRows(1);
    Frame frame;
    frame.n = 1;
    ASSIGN_OR_RETURN(Values value, eval(frame, id));
    if (value.isConstant) {
        ASSIGN_OR_RETURN(value.other, memory_.toDatum(value, program_.node(id).expr->type, 1));
    }
    return value;
}

Result<Values> ProgramRun::newValues(const Frame& frame, int id) {
    Values values;
    values.lane = program_.node(id).lane;
    if (id == root_ && frame.parent == nullptr && outAt_ != nullptr && values.lane != Lane::kBool) {
        values.data = outAt_;
        return values;
    }
    ASSIGN_OR_RETURN(values.dataHeld, memory_.block(values.lane == Lane::kBool));
    values.data = values.dataHeld->data();
    return values;
}

Result<Values> ProgramRun::eval(Frame& frame, int id) {
    const ProgramNode& node = program_.node(id);
    if (node.kind == Kind::kConstant) {
        return node.constant;
    }
    if (node.uses > 1) {
        const auto it = frame.known.find(id);
        if (it != frame.known.end()) {
            Values values = it->second.values;
            if (--it->second.usesLeft == 0) {
                frame.known.erase(it);
            }
            return values;
        }
    }
    std::optional<Values> found;
    if (frame.parent != nullptr) {
        ASSIGN_OR_RETURN(found, knownIn(*frame.parent, id));
        if (found.has_value()) {
            ASSIGN_OR_RETURN(found, memory_.gather(*found, frame.rows, frame.rowsArray, frame.n));
        }
    }
    if (!found.has_value()) {
        ASSIGN_OR_RETURN(found, compute(frame, id));
    }
    if (node.uses > 1) {
        frame.known.emplace(id, Frame::Known{*found, node.uses - 1});
    }
    return *std::move(found);
}

// Values that the frame, or one that contains it, already has.
Result<std::optional<Values>> ProgramRun::knownIn(Frame& frame, int id) {
    const auto it = frame.known.find(id);
    if (it != frame.known.end()) {
        return std::optional<Values>(it->second.values);
    }
    const ProgramNode& node = program_.node(id);
    std::optional<Values> found;
    if (frame.parent != nullptr) {
        ASSIGN_OR_RETURN(found, knownIn(*frame.parent, id));
        if (found.has_value()) {
            ASSIGN_OR_RETURN(found, memory_.gather(*found, frame.rows, frame.rowsArray, frame.n));
        }
    } else if (isLeaf(id)) {
        ASSIGN_OR_RETURN(found, column(frame, id));
    }
    if (found.has_value()) {
        frame.known.emplace(id, Frame::Known{*found, node.uses});
    }
    return found;
}

Result<Values> ProgramRun::compute(Frame& frame, int id) {
    const ProgramNode& node = program_.node(id);
    if (isLeaf(id)) {
        return column(frame, id);
    }
    switch (node.kind) {
        case Kind::kConstant:
            return node.constant;
        case Kind::kColumn:
            break;
        case Kind::kLane:
            return kernel(frame, id);
        case Kind::kIsNull:
            return isNull(frame, id);
        case Kind::kLogic:
            return Branches(*this).logic(frame, id);
        case Kind::kCase:
            return Branches(*this).caseWhen(frame, id);
        case Kind::kCoalesce:
            return Branches(*this).coalesce(frame, id);
        case Kind::kArrow:
            break;
    }
    std::vector<Values> args;
    for (const int child : node.children) {
        ASSIGN_OR_RETURN(Values value, eval(frame, child));
        args.push_back(std::move(value));
    }
    return byArrow(frame, node, args);
}

Result<Values> ProgramRun::column(const Frame& frame, int id) {
    const ProgramNode& node = program_.node(id);
    ArrayPtr& whole = leaves_[id];
    if (whole == nullptr) {
        ASSIGN_OR_RETURN(whole, input_.column(node.expr->name));
    }
    const bool isAll = frame.first == 0 && frame.n == whole->length();
    return memory_.fromArray(node.expr->type, isAll ? whole : whole->Slice(frame.first, frame.n));
}

Result<Values> ProgramRun::kernel(Frame& frame, int id) {
    const ProgramNode& node = program_.node(id);
    std::vector<Values> args;
    args.reserve(node.children.size());
    bool isConstant = true, isNull = false;
    for (const int child : node.children) {
        ASSIGN_OR_RETURN(Values value, eval(frame, child));
        isConstant &= value.isConstant;
        isNull |= value.isAllNull();
        args.push_back(std::move(value));
    }
    if (node.kernel.isStrict && isNull) {
        return nullOfLane(node.lane);
    }
    // Without rows, evaluates only operators, to find errors that all rows share; no casts or
    // calls.
    const bool isTried = node.expr->op != ExprOp::kCast && node.expr->op != ExprOp::kCall;
    const std::int64_t n = !isConstant ? frame.n : frame.n > 0 || isTried ? 1 : 0;
    ASSIGN_OR_RETURN(Values result, newValues(frame, id));
    ASSIGN_OR_RETURN(result.validHeld, memory_.block(/*isMask=*/true));
    LaneCall call{*node.expr, args, n};
    call.out = const_cast<void*>(result.data);
    call.valid = result.validHeld->mutable_data();
    call.isa = isa_;
    call.prepared = node.prepared.get();
    for (const Values& value : args) {
        if (!node.kernel.isStrict || value.valid == nullptr) {
            continue;
        }
        if (!call.hasNulls) {
            std::memcpy(call.valid, value.valid, sizeOf(n));
        } else {
            std::uint8_t* const both = call.valid;
            const std::uint8_t* const more = value.valid;
            eachRow(isa_, n, [=](std::int64_t i) MILLRACE_ROW {
                both[i] = static_cast<std::uint8_t>(both[i] & more[i]);
            });
        }
        call.hasNulls = true;
    }
    if (!node.kernel.run(call)) {
        return call.error != nullptr ? Result<Values>(invalidArgument(call.error))
                                     : byArrow(frame, node, args);
    }
    result.valid = call.hasNulls ? call.valid : nullptr;
    if (isConstant && frame.n > 0) {
        result.isConstant = true;
        result.isNull = call.hasNulls && call.valid[0] == 0;
        result.valid = nullptr;
    }
    return result;
}

Result<Values> ProgramRun::byArrow(Frame& frame, const ProgramNode& node,
                                   const std::vector<Values>& args) {
    std::vector<Datum> datums;
    bool isConstant = true;
    for (std::size_t i = 0; i < args.size(); ++i) {
        ASSIGN_OR_RETURN(Datum datum,
                         memory_.toDatum(args[i], node.expr->children[i]->type, frame.n));
        isConstant &= args[i].isConstant;
        datums.push_back(std::move(datum));
    }
    const std::int64_t n = isConstant ? std::min<std::int64_t>(frame.n, 1) : frame.n;
    ASSIGN_OR_RETURN(const Datum value, evaluateByArrow(*node.expr, datums, n));
    if (isConstant && frame.n > 0) {
        ASSIGN_OR_RETURN(const ArrayPtr one, asArray(value, 1));
        ASSIGN_OR_RETURN(Values constant, memory_.fromArray(node.expr->type, one));
        constant.isConstant = true;
        if (node.lane != Lane::kOther) {
            constant.isNull |= constant.valid != nullptr;
            constant.valid = nullptr;
            if (constant.dataHeld == nullptr && constant.other.is_array()) {
                constant.dataHeld = constant.other.make_array()->data()->buffers[1];
            }
            constant.other = Datum();
            return constant;
        }
        const arrow::Result<std::shared_ptr<arrow::Scalar>> scalar = one->GetScalar(0);
        RETURN_IF_ERROR(arrays::fromArrow(scalar.status(), "a constant"));
        constant.isNull = !(*scalar)->is_valid;
        constant.other = Datum(*scalar);
        return constant;
    }
    return memory_.fromDatum(node.expr->type, value, frame.n);
}

Result<Values> ProgramRun::isNull(Frame& frame, int id) {
    const ProgramNode& node = program_.node(id);
    const bool isNegated = node.expr->op == ExprOp::kIsNotNull;
    ASSIGN_OR_RETURN(const Values value, eval(frame, node.children[0]));
    Values result;
    result.lane = Lane::kBool;
    const bool hasArray = value.lane == Lane::kOther && value.other.is_array();
    if (value.isConstant || (value.valid == nullptr && !hasArray)) {
        result.isConstant = true;
        result.data = kBools + (value.isAllNull() != isNegated ? 1 : 0);
        return result;
    }
    ASSIGN_OR_RETURN(result.dataHeld, memory_.block(/*isMask=*/true));
    std::uint8_t* const out = result.dataHeld->mutable_data();
    result.data = out;
    if (hasArray) {
        const ArrayPtr array = value.other.make_array();
        for (std::int64_t i = 0; i < frame.n; ++i) {
            out[i] = array->IsNull(i) != isNegated ? 1 : 0;
        }
        return result;
    }
    const std::uint8_t* const valid = value.valid;
    const std::uint8_t flip = isNegated ? 0 : 1;
    eachRow(isa_, frame.n, [=](std::int64_t i) MILLRACE_ROW {
        out[i] = static_cast<std::uint8_t>(valid[i] ^ flip);
    });
    return result;
}

Result<ArrayPtr> ProgramRun::all(std::int64_t* failedRow) {
    if (failedRow != nullptr) {
        *failedRow = -1;
    }
    const ProgramNode& root = program_.node(root_);
    if (root.kind == Kind::kColumn) {
        return input_.column(root.expr->name);
    }
    lookUpTexts(root_);
    if (const auto leaf = leaves_.find(root_); leaf != leaves_.end()) {
        return leaf->second;
    }
    if (root.lane != Lane::kOther) {
        return lanes(failedRow);
    }
    // Texts and lists are made in one piece: morsels would have to be joined again.
    memory_.setRows(input_.rows());
    Frame frame;
    frame.n = input_.rows();
    Result<Values> values = eval(frame, root_);
    if (!values.ok()) {
        return firstFailure(values.status(), 0, frame.n, failedRow);
    }
    ASSIGN_OR_RETURN(const Datum datum, memory_.toDatum(*values, root.expr->type, frame.n));
    return asArray(datum, frame.n);
}

Result<ArrayPtr> ProgramRun::lanes(std::int64_t* failedRow) {
    const ProgramNode& root = program_.node(root_);
    const std::int64_t rows = input_.rows();
    const bool isBool = root.lane == Lane::kBool;
    const std::int64_t bytes =
        isBool ? arrow::bit_util::BytesForBits(rows) : rows * laneBytes(root.lane);
    arrow::Result<std::unique_ptr<arrow::Buffer>> memory =
        arrow::AllocateBuffer(bytes, evaluationPool());
    RETURN_IF_ERROR(arrays::fromArrow(memory.status(), "values"));
    out_ = std::move(*memory);
    memory_.setRows(std::min(rows, kMorselRows));
    std::int64_t first = 0;
    do {
        const std::int64_t n = std::min(kMorselRows, rows - first);
        outAt_ = isBool ? nullptr : out_->mutable_data() + first * laneBytes(root.lane);
        const Status status = evalMorsel(first, n);
        if (!status.ok()) {
            outAt_ = nullptr;
            return firstFailure(status, first, n, failedRow);
        }
        first += n;
    } while (first < rows);
    return arrow::MakeArray(arrow::ArrayData::Make(arrays::toArrowType(root.expr->type), rows,
                                                   {std::move(outValid_), std::move(out_)}));
}

Status ProgramRun::evalMorsel(std::int64_t first, std::int64_t n) {
    Frame frame;
    frame.first = first;
    frame.n = n;
    ASSIGN_OR_RETURN(const Values values, eval(frame, root_));
    return store(values, first, n);
}

// Writes zeros under nulls, so that equal rows have equal bytes however they were made.
Status ProgramRun::store(const Values& values, std::int64_t first, std::int64_t n) {
    const bool isNull = values.isAllNull();
    if (outValid_ == nullptr && (isNull || values.valid != nullptr)) {
        const std::int64_t bytes = arrow::bit_util::BytesForBits(input_.rows());
        arrow::Result<std::unique_ptr<arrow::Buffer>> bits =
            arrow::AllocateBuffer(bytes, evaluationPool());
        RETURN_IF_ERROR(arrays::fromArrow(bits.status(), "values"));
        outValid_ = std::move(*bits);
        std::memset(outValid_->mutable_data(), 0xff, sizeOf(bytes));
    }
    const std::int64_t bitBytes = arrow::bit_util::BytesForBits(n);
    if (isNull) {
        std::memset(outValid_->mutable_data() + first / 8, 0, sizeOf(bitBytes));
    } else if (values.valid != nullptr) {
        bitsOfBytes(values.valid, n, outValid_->mutable_data() + first / 8);
    }
    if (values.lane == Lane::kBool) {
        ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Buffer> held, memory_.block(/*isMask=*/true));
        RETURN_IF_ERROR(memory_.truths(values, n, held->mutable_data()));
        bitsOfBytes(held->data(), n, out_->mutable_data() + first / 8);
        return okStatus();
    }
    const std::int64_t width = laneBytes(values.lane);
    std::uint8_t* const out = out_->mutable_data() + first * width;
    if (isNull) {
        std::memset(out, 0, sizeOf(n * width));
    } else if (values.isConstant) {
        for (std::int64_t i = 0; i < n; ++i) {
            std::memcpy(out + i * width, values.data, sizeOf(width));
        }
    } else if (values.data != out) {
        std::memcpy(out, values.data, sizeOf(n * width));
    }
    if (values.valid != nullptr) {
        width == 8   ? clearNulls<std::uint64_t>(out, values.valid, n)
        : width == 4 ? clearNulls<std::uint32_t>(out, values.valid, n)
        : width == 2 ? clearNulls<std::uint16_t>(out, values.valid, n)
                     : clearNulls<std::uint8_t>(out, values.valid, n);
    }
    return okStatus();
}

// Finds the shortest failing prefix, which ends with the failing row; that row alone gives the
// message.
Status ProgramRun::firstFailure(const Status& whole, std::int64_t first, std::int64_t n,
                                std::int64_t* failedRow) {
    if (whole.code() != absl::StatusCode::kInvalidArgument || n == 0) {
        return whole;
    }
    const auto statusOf = [&](std::int64_t from, std::int64_t count) {
        Frame frame;
        frame.first = from;
        frame.n = count;
        return eval(frame, root_).status();
    };
    std::int64_t good = 0, bad = n;
    while (bad - good > 1) {
        const std::int64_t middle = good + (bad - good) / 2;
        (statusOf(first, middle).ok() ? good : bad) = middle;
    }
    if (failedRow != nullptr) {
        *failedRow = first + bad - 1;
    }
    const Status alone = statusOf(first + bad - 1, 1);
    return alone.ok() ? whole : alone;
}

}  // namespace millrace::eval

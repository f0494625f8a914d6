#include "backend/eval/value_memory.h"

#include <algorithm>
#include <cstring>

#include <arrow/array/array_primitive.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/eval/evaluator.h"

namespace millrace::eval {
namespace {

std::size_t bytesOf(std::int64_t n) {
    return static_cast<std::size_t>(n);
}

template <class T>
void pick(const T* from, const std::int64_t* rows, std::int64_t n, T* out) {
    for (std::int64_t i = 0; i < n; ++i) {
        out[i] = from[rows[i]];
    }
}

template <class T>
void blend(Isa isa, const Values& from, const std::uint8_t* rows, std::int64_t n, void* to) {
    T* const out = static_cast<T*>(to);
    // The old value is written back where the row is not chosen: a loop without branches, which the
    // compiler can vectorise.
    const T* const in = from.as<T>();
    if (from.isConstant) {
        const T value = *in;
        eachRow(isa, n,
                [=](std::int64_t i) MILLRACE_ROW { out[i] = rows[i] != 0 ? value : out[i]; });
    } else {
        eachRow(isa, n,
                [=](std::int64_t i) MILLRACE_ROW { out[i] = rows[i] != 0 ? in[i] : out[i]; });
    }
}

}  // namespace

Values nullOfLane(Lane lane) {
    Values values;
    values.lane = lane;
    values.isConstant = values.isNull = true;
    return values;
}

Result<Values> constantOf(Lane lane, const Datum& scalar) {
    Values values = nullOfLane(lane);
    values.other = scalar;
    values.isNull = !scalar.scalar()->is_valid;
    if (lane == Lane::kOther || values.isNull) {
        return values;
    }
    ASSIGN_OR_RETURN(const ArrayPtr one, asArray(scalar, 1));
    if (lane == Lane::kBool) {
        values.data = kBools + (static_cast<const arrow::BooleanArray&>(*one).Value(0) ? 1 : 0);
        return values;
    }
    values.dataHeld = one->data()->buffers[1];
    values.data = values.dataHeld->data() + one->offset() * laneBytes(lane);
    return values;
}

Result<std::shared_ptr<arrow::Buffer>> ValueMemory::block(bool isMask) {
    for (const Block& known : blocks_) {
        // No Values refers to it any more: blocks_ holds the only reference. One thread uses this
        // object, so the count cannot rise meanwhile.
        if (known.isMask == isMask && known.memory.use_count() == 1) {
            return known.memory;
        }
    }
    const std::int64_t bytes = std::max<std::int64_t>(rows_, 1) * (isMask ? 1 : 8);
    arrow::Result<std::unique_ptr<arrow::Buffer>> memory =
        arrow::AllocateBuffer(bytes, evaluationPool());
    RETURN_IF_ERROR(arrays::fromArrow(memory.status(), "values"));
    blocks_.push_back({std::move(*memory), isMask});
    return blocks_.back().memory;
}

Result<Values> ValueMemory::fromDatum(const expr::DataType& type, const Datum& datum,
                                      std::int64_t n) {
    if (datum.is_scalar()) {
        ASSIGN_OR_RETURN(ArrayPtr array, asArray(datum, n));
        return fromArray(type, std::move(array));
    }
    return fromArray(type, datum.make_array());
}

Result<Values> ValueMemory::fromArray(const expr::DataType& type, ArrayPtr array) {
    Values values;
    values.lane = laneOf(type);
    if (values.lane == Lane::kOther) {
        values.other = Datum(std::move(array));
        return values;
    }
    if (array->type_id() == arrow::Type::NA) {
        return nullOfLane(values.lane);
    }
    const std::shared_ptr<arrow::DataType> wanted = arrays::toArrowType(type);
    if (array->type_id() != wanted->id()) {
        expr::DataType from;
        arrays::toSpecType(*array->type(), from);
        ASSIGN_OR_RETURN(array, castValues(array, from, type, false));
    }
    const arrow::ArrayData& data = *array->data();
    const std::int64_t n = data.length;
    if (n == 0) {
        values.data = kBools;  // never read
        values.other = Datum(std::move(array));
        return values;
    }
    if (values.lane == Lane::kBool) {
        ASSIGN_OR_RETURN(values.dataHeld, block(/*isMask=*/true));
        bytesOfBits(data.buffers[1]->data(), data.offset, n, values.dataHeld->mutable_data());
        values.data = values.dataHeld->data();
    } else {
        // A view of Arrow's own memory; `other`, set below, keeps it alive.
        values.data = data.buffers[1]->data() + data.offset * laneBytes(values.lane);
    }
    if (array->null_count() > 0) {
        ASSIGN_OR_RETURN(values.validHeld, block(/*isMask=*/true));
        bytesOfBits(data.buffers[0]->data(), data.offset, n, values.validHeld->mutable_data());
        values.valid = values.validHeld->data();
    }
    values.other = Datum(std::move(array));
    return values;
}

Result<Datum> ValueMemory::toDatum(const Values& values, const expr::DataType& type,
                                   std::int64_t n) {
    if (values.other.kind() != Datum::NONE) {
        return values.other;
    }
    if (values.isAllNull()) {
        return nullOf(type);
    }
    const std::int64_t count = values.isConstant ? 1 : n;
    std::shared_ptr<arrow::Buffer> data = values.dataHeld;
    // A view of a part of another buffer, and bools, which Arrow stores as bits, are copied. Blocks
    // are passed on without a copy: their reference count keeps them from being reused.
    if (values.lane == Lane::kBool || data == nullptr || data->data() != values.data) {
        const std::int64_t bytes = values.lane == Lane::kBool ? arrow::bit_util::BytesForBits(count)
                                                              : count * laneBytes(values.lane);
        arrow::Result<std::unique_ptr<arrow::Buffer>> copy =
            arrow::AllocateBuffer(bytes, evaluationPool());
        RETURN_IF_ERROR(arrays::fromArrow(copy.status(), "values"));
        data = std::move(*copy);
        if (values.lane == Lane::kBool) {
            bitsOfBytes(values.as<std::uint8_t>(), count, data->mutable_data());
        } else {
            std::memcpy(data->mutable_data(), values.data, bytesOf(bytes));
        }
    }
    std::shared_ptr<arrow::Buffer> bits;
    if (values.valid != nullptr) {
        arrow::Result<std::unique_ptr<arrow::Buffer>> made =
            arrow::AllocateBuffer(arrow::bit_util::BytesForBits(count), evaluationPool());
        RETURN_IF_ERROR(arrays::fromArrow(made.status(), "values"));
        bits = std::move(*made);
        bitsOfBytes(values.valid, count, bits->mutable_data());
    }
    const ArrayPtr array = arrow::MakeArray(arrow::ArrayData::Make(
        arrays::toArrowType(type), count, {std::move(bits), std::move(data)}));
    if (!values.isConstant) {
        return Datum(array);
    }
    const arrow::Result<std::shared_ptr<arrow::Scalar>> scalar = array->GetScalar(0);
    RETURN_IF_ERROR(arrays::fromArrow(scalar.status(), "a constant"));
    return Datum(*scalar);
}

Result<Values> ValueMemory::gather(const Values& values, const std::int64_t* rows,
                                   const ArrayPtr& rowsArray, std::int64_t n) {
    if (values.isConstant) {
        return values;
    }
    Values result;
    result.lane = values.lane;
    if (values.lane == Lane::kOther) {
        ASSIGN_OR_RETURN(ArrayPtr taken, takeRows(values.other.make_array(), rowsArray));
        result.other = Datum(std::move(taken));
        return result;
    }
    const std::int64_t width = laneBytes(values.lane);
    ASSIGN_OR_RETURN(result.dataHeld, block(values.lane == Lane::kBool));
    std::uint8_t* const out = result.dataHeld->mutable_data();
    result.data = out;
    if (width == 8) {
        pick(values.as<std::uint64_t>(), rows, n, reinterpret_cast<std::uint64_t*>(out));
    } else if (width == 4) {
        pick(values.as<std::uint32_t>(), rows, n, reinterpret_cast<std::uint32_t*>(out));
    } else if (width == 2) {
        pick(values.as<std::uint16_t>(), rows, n, reinterpret_cast<std::uint16_t*>(out));
    } else {
        pick(values.as<std::uint8_t>(), rows, n, out);
    }
    if (values.valid != nullptr) {
        ASSIGN_OR_RETURN(result.validHeld, block(/*isMask=*/true));
        pick(values.valid, rows, n, result.validHeld->mutable_data());
        result.valid = result.validHeld->data();
    }
    return result;
}

Result<Values> ValueMemory::scatter(const Values& some, const std::vector<std::int64_t>& rows,
                                    std::int64_t n) {
    if (some.isConstant) {
        return some;
    }
    Values result;
    result.lane = some.lane;
    if (some.lane == Lane::kOther) {
        std::vector<std::int64_t> places(static_cast<std::size_t>(n), -1);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            places[static_cast<std::size_t>(rows[i])] = static_cast<std::int64_t>(i);
        }
        ASSIGN_OR_RETURN(const ArrayPtr indices, indexArray(places, true));
        ASSIGN_OR_RETURN(ArrayPtr spread, takeRows(some.other.make_array(), indices));
        result.other = Datum(std::move(spread));
        return result;
    }
    const auto width = static_cast<std::size_t>(laneBytes(some.lane));
    ASSIGN_OR_RETURN(result.dataHeld, block(some.lane == Lane::kBool));
    std::uint8_t* const out = result.dataHeld->mutable_data();
    // Rows outside `rows` are never used, but kernels compute on them: they get a defined value.
    std::memset(out, 0, static_cast<std::size_t>(n) * width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::memcpy(out + static_cast<std::size_t>(rows[i]) * width,
                    some.as<std::uint8_t>() + i * width, width);
    }
    result.data = out;
    if (some.valid != nullptr) {
        ASSIGN_OR_RETURN(result.validHeld, block(/*isMask=*/true));
        std::uint8_t* const valid = result.validHeld->mutable_data();
        std::memset(valid, 0, static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            valid[rows[i]] = some.valid[i];
        }
        result.valid = valid;
    }
    return result;
}

/// Writes the values of `rows` into the result, which owns its memory.
Status ValueMemory::take(Values& result, const Values& from, const std::uint8_t* rows,
                         std::int64_t n) {
    // The result had no nulls until now: all rows taken so far are valid.
    if (result.valid == nullptr && (from.isAllNull() || from.valid != nullptr)) {
        ASSIGN_OR_RETURN(result.validHeld, block(/*isMask=*/true));
        std::memset(result.validHeld->mutable_data(), 1, static_cast<std::size_t>(n));
        result.valid = result.validHeld->data();
    }
    if (result.valid != nullptr) {
        std::uint8_t* const valid = result.validHeld->mutable_data();
        const std::uint8_t* const known = from.valid;
        const std::uint8_t all = from.isAllNull() ? 0 : 1;
        if (known == nullptr) {
            eachRow(isa_, n,
                    [=](std::int64_t i) MILLRACE_ROW { valid[i] = rows[i] != 0 ? all : valid[i]; });
        } else {
            eachRow(isa_, n, [=](std::int64_t i) MILLRACE_ROW {
                valid[i] = rows[i] != 0 ? known[i] : valid[i];
            });
        }
    }
    if (from.isAllNull()) {
        return okStatus();
    }
    // Values are read-only for everyone but the owner of the block behind them.
    void* const out = const_cast<void*>(result.data);
    switch (laneBytes(result.lane)) {
        case 8:
            blend<std::uint64_t>(isa_, from, rows, n, out);
            break;
        case 4:
            blend<std::uint32_t>(isa_, from, rows, n, out);
            break;
        case 2:
            blend<std::uint16_t>(isa_, from, rows, n, out);
            break;
        default:
            blend<std::uint8_t>(isa_, from, rows, n, out);
    }
    return okStatus();
}

/// A byte per row: 1 if it is known and true.
Status ValueMemory::truths(const Values& values, std::int64_t n, std::uint8_t* out) {
    if (values.isConstant) {
        const bool isTrue = !values.isNull && *values.as<std::uint8_t>() != 0;
        std::memset(out, isTrue ? 1 : 0, static_cast<std::size_t>(n));
        return okStatus();
    }
    const auto* const is = values.as<std::uint8_t>();
    const std::uint8_t* const valid = values.valid;
    if (valid == nullptr) {
        std::memcpy(out, is, static_cast<std::size_t>(n));
        return okStatus();
    }
    eachRow(isa_, n, [=](std::int64_t i) MILLRACE_ROW {
        // A value under a null is undefined; the conjunction is 0 whatever it is.
        out[i] = static_cast<std::uint8_t>(is[i] & valid[i]);
    });
    return okStatus();
}

}  // namespace millrace::eval

#include "backend/eval/kernels.h"

#include <arrow/array/builder_primitive.h>
#include <arrow/array/util.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/memory_pool.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/kernels.h"
#include "backend/eval/evaluation_pool.h"

namespace millrace::eval {
namespace {

thread_local arrow::MemoryPool* currentPool = nullptr;

Status plain(const arrow::Status& status) {
    std::string_view what = status.message();
    what = what.substr(0, what.find('\n'));
    if (status.IsOutOfMemory() || status.IsCapacityError()) {
        return resourceExhausted(what);
    }
    if (what == "overflow") {
        return invalidArgument("integer overflow");
    }
    return invalidArgument(what);
}

arrow::compute::ExecContext makeContext() {
    arrow::compute::ExecContext context(evaluationPool());
    context.set_use_threads(false);
    return context;
}

}  // namespace

arrow::MemoryPool* evaluationPool() {
    return currentPool != nullptr ? currentPool : arrow::default_memory_pool();
}

EvaluationScope::EvaluationScope(arrow::MemoryPool* pool) : outer_(currentPool) {
    currentPool = pool;
}

EvaluationScope::~EvaluationScope() {
    currentPool = outer_;
}

Result<Datum> callKernel(const std::string& name, const std::vector<Datum>& arguments,
                         const arrow::compute::FunctionOptions* options) {
    RETURN_IF_ERROR(arrays::needKernels());
    arrow::compute::ExecContext context = makeContext();
    arrow::Result<Datum> result = arrow::compute::CallFunction(name, arguments, options, &context);
    if (!result.ok()) {
        return plain(result.status());
    }
    return std::move(result).ValueUnsafe();
}

Result<ArrayPtr> asArray(const Datum& value, std::int64_t rows) {
    if (value.is_scalar()) {
        // Arrow cannot repeat a list 0 times.
        arrow::Result<ArrayPtr> array =
            rows == 0 ? arrow::MakeEmptyArray(value.type(), evaluationPool())
                      : arrow::MakeArrayFromScalar(*value.scalar(), rows, evaluationPool());
        return array.ok() ? Result<ArrayPtr>(*array) : plain(array.status());
    }
    return value.make_array();
}

Result<ArrayPtr> takeRows(const ArrayPtr& values, const ArrayPtr& indices) {
    arrow::compute::ExecContext context = makeContext();
    arrow::Result<Datum> result = arrow::compute::Take(
        values, indices, arrow::compute::TakeOptions::NoBoundsCheck(), &context);
    if (!result.ok()) {
        return plain(result.status());
    }
    return result->make_array();
}

Result<ArrayPtr> indexArray(const std::vector<std::int64_t>& numbers, bool hasNulls) {
    arrow::Int64Builder builder(evaluationPool());
    arrow::Status status = builder.Reserve(static_cast<std::int64_t>(numbers.size()));
    for (std::size_t i = 0; i < numbers.size() && status.ok(); ++i) {
        if (hasNulls && numbers[i] < 0) {
            builder.UnsafeAppendNull();
        } else {
            builder.UnsafeAppend(numbers[i]);
        }
    }
    ArrayPtr array;
    if (status.ok()) {
        status = builder.Finish(&array);
    }
    RETURN_IF_ERROR(arrays::fromArrow(status, "row numbers"));
    return array;
}

Result<Datum> nullOf(const expr::DataType& type) {
    const std::shared_ptr<arrow::DataType> pinned = arrays::toArrowType(type);
    if (pinned == nullptr) {
        return invalidArgument("no null of type ", type.name());
    }
    return Datum(arrow::MakeNullScalar(pinned));
}

Result<Datum> choose(const Datum& condition, const Datum& yes, const Datum& no) {
    ASSIGN_OR_RETURN(const Datum sure,
                     callKernel("coalesce", {condition, Datum(arrow::BooleanScalar(false))}));
    return callKernel("if_else", {sure, yes, no});
}

}  // namespace millrace::eval

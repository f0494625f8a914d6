// Columns of a batch as tensors of other libraries, which keep its memory (DLPack), and these in
// Python's capsules.
#include <array>
#include <cstdint>
#include <memory>
#include <new>

#include <dlfcn.h>

#include "backend/frame/format.h"
#include "backend/ring/dlpack.h"
#include "backend/ring/feed_batch.h"

namespace millrace::ring {
namespace {

constexpr const char* kBatchName = "millrace_batch";
constexpr const char* kTensorName = "dltensor";  // who takes it over gives it another name

/// A tensor and who keeps its memory.
struct Exported {
    DlManagedTensor managed{};
    std::array<std::int64_t, 2> shape{};
    millrace_batch* batch = nullptr;
};

void deleteExported(DlManagedTensor* managed) {
    if (managed != nullptr) {
        const std::unique_ptr<Exported> owned(static_cast<Exported*>(managed->context));
        millrace_batch_release(owned->batch);
    }
}

DlDataType typeOf(frame::DType dtype) {
    const auto bits = static_cast<std::uint8_t>(8 * frame::sizeOf(dtype));
    switch (dtype) {
        case frame::DType::kInt8:
        case frame::DType::kInt16:
        case frame::DType::kInt32:
        case frame::DType::kInt64:
            return {kDlInt, bits, 1};
        case frame::DType::kFloat32:
        case frame::DType::kFloat64:
            return {kDlFloat, bits, 1};
        default:
            return {kDlUInt, bits, 1};  // also the bytes of texts
    }
}

/// Where a part lies, of which type, how many; `data` null: there is no such.
void describe(const millrace_batch& batch, std::size_t index, std::int32_t part, Exported& to) {
    const millrace_column column = batch.directory.column(index, batch.bytes);
    const auto role = static_cast<frame::Role>(column.role);
    DlTensor& tensor = to.managed.tensor;
    const auto set = [&](const void* data, frame::DType dtype, std::uint64_t count) {
        tensor.data = const_cast<void*>(data);
        tensor.dtype = typeOf(dtype);
        to.shape = {static_cast<std::int64_t>(count), static_cast<std::int64_t>(column.width)};
    };
    tensor.numDims = 1;
    switch (part) {
        case MILLRACE_PART_DATA: {
            const bool isBlock =
                column.offsets == nullptr &&
                (column.width > 1 || role == frame::Role::kDense || role == frame::Role::kVector);
            tensor.numDims = isBlock ? 2 : 1;
            set(column.data, static_cast<frame::DType>(column.dtype),
                isBlock ? column.items : column.num_values);
            break;
        }
        case MILLRACE_PART_OFFSETS:
            set(column.offsets, frame::DType::kInt64, column.items + 1);
            break;
        case MILLRACE_PART_WEIGHTS:
            set(column.weights, frame::DType::kFloat32, column.num_values);
            break;
        case MILLRACE_PART_INVERSE:
            set(column.inverse, frame::DType::kUint32, batch.directory.header().rows);
            break;
        default:
            break;
    }
}

/// Of the interpreter in this process, found by name: this library is no extension of Python.
struct Python {
    using Destructor = void (*)(void* capsule);

    void* (*newCapsule)(void* pointer, const char* name, Destructor) = nullptr;
    void* (*pointerOf)(void* capsule, const char* name) = nullptr;
    int (*isValid)(void* capsule, const char* name) = nullptr;

    Python() {
        find(newCapsule, "PyCapsule_New");
        find(pointerOf, "PyCapsule_GetPointer");
        find(isValid, "PyCapsule_IsValid");
    }
    bool isThere() const {
        return newCapsule != nullptr && pointerOf != nullptr && isValid != nullptr;
    }
    /// Null where the capsule's content was taken over.
    void* content(void* capsule, const char* name) const {
        return isValid(capsule, name) != 0 ? pointerOf(capsule, name) : nullptr;
    }

 private:
    template <class Function>
    static void find(Function& function, const char* name) {
        function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
    }
};

const Python& python() {
    static const Python instance;
    return instance;
}

void destroyBatchCapsule(void* capsule) {
    millrace_batch_release(static_cast<millrace_batch*>(python().content(capsule, kBatchName)));
}

void destroyTensorCapsule(void* capsule) {
    deleteExported(static_cast<DlManagedTensor*>(python().content(capsule, kTensorName)));
}

}  // namespace
}  // namespace millrace::ring

namespace ring = millrace::ring;

void* millrace_batch_dlpack(millrace_batch* batch, std::size_t column, std::int32_t part) {
    if (!batch->ring->isOwn() || column >= batch->directory.header().columns) {
        return nullptr;
    }
    std::unique_ptr<ring::Exported> made(new (std::nothrow) ring::Exported);
    if (made != nullptr) {
        ring::describe(*batch, column, part, *made);
    }
    if (made == nullptr || made->managed.tensor.data == nullptr) {
        return nullptr;
    }
    batch->references.fetch_add(1, std::memory_order_relaxed);
    made->batch = batch;
    made->managed.tensor.shape = made->shape.data();
    made->managed.context = made.get();
    made->managed.deleter = ring::deleteExported;
    return &made.release()->managed;
}

void* millrace_python_batch(millrace_batch* batch) {
    const ring::Python& python = ring::python();
    return python.isThere() ? python.newCapsule(batch, ring::kBatchName, ring::destroyBatchCapsule)
                            : nullptr;
}

void* millrace_python_tensor(millrace_batch* batch, std::size_t column, std::int32_t part) {
    const ring::Python& python = ring::python();
    void* tensor = python.isThere() ? millrace_batch_dlpack(batch, column, part) : nullptr;
    void* capsule = tensor == nullptr
                        ? nullptr
                        : python.newCapsule(tensor, ring::kTensorName, ring::destroyTensorCapsule);
    if (capsule == nullptr) {
        ring::deleteExported(static_cast<ring::DlManagedTensor*>(tensor));
    }
    return capsule;
}

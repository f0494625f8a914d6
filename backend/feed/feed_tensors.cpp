// Columns of a batch as DLPack tensors for other libraries, which keep its memory, and these
// tensors in Python's capsules.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>

#include <dlfcn.h>

#include "backend/feed/dlpack.h"
#include "backend/feed/feed_batch.h"
#include "backend/feed/feed_python.h"
#include "backend/frame/format.h"

namespace millrace::ring {
namespace {

constexpr const char* kBatchName = "millrace_batch";
constexpr const char* kTensorName = "dltensor";  // a consumer that takes it over renames it

/// A tensor and the batch that keeps its memory.
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

/// Counts the values from one feature to the last that follows it without a gap. The writer may
/// have written any offsets: values that do not follow are not counted.
std::uint64_t packedValues(const FrameDirectory& directory, std::size_t from, bool areWeights) {
    const auto isWanted = [areWeights](const frame::ColumnEntry& e) {
        return areWeights ? e.role == frame::Role::kWeighted : frame::isPacked(e.role);
    };
    const std::uint64_t width = areWeights ? sizeof(float) : sizeof(std::int64_t);
    std::uint64_t values = 0, end = 0;
    for (std::size_t c = from; c < directory.header().columns; ++c) {
        const frame::ColumnEntry& e = directory.entries()[c];
        const frame::Extent& at = areWeights ? e.weights : e.data;
        if (!isWanted(e)) {
            continue;
        }
        if (end != 0 && at.offset != end) {
            break;
        }
        values += e.values;
        end = at.offset + e.values * width;
    }
    return values;
}

/// Fills in address, type and count of a part; `data` null: there is no such part.
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
        case MILLRACE_PART_FEATURES:
            if (frame::isPacked(role)) {
                set(column.data, frame::DType::kInt64, packedValues(batch.directory, index, false));
            }
            break;
        case MILLRACE_PART_FEATURE_WEIGHTS:
            set(column.weights, frame::DType::kFloat32, packedValues(batch.directory, index, true));
            break;
        default:
            break;
    }
}

/// Functions of the interpreter in this process, looked up by name, as this library is not a Python
/// extension. Objects are void here.
struct Python {
    using Destructor = void (*)(void* capsule);

    void* (*newCapsule)(void* pointer, const char* name, Destructor) = nullptr;
    void* (*pointerOf)(void* capsule, const char* name) = nullptr;
    int (*isValid)(void* capsule, const char* name) = nullptr;
    void* (*newList)(std::ptrdiff_t size) = nullptr;
    int (*setItem)(void* list, std::ptrdiff_t at, void* item) = nullptr;
    void (*keep)(void* object) = nullptr;
    void (*letGo)(void* object) = nullptr;
    void* none = nullptr;

    Python() {
        find(newCapsule, "PyCapsule_New");
        find(pointerOf, "PyCapsule_GetPointer");
        find(isValid, "PyCapsule_IsValid");
        find(newList, "PyList_New");
        find(setItem, "PyList_SetItem");
        find(keep, "Py_IncRef");
        find(letGo, "Py_DecRef");
        find(none, "_Py_NoneStruct");
    }
    /// Null if the capsule's content was taken over.
    void* content(void* capsule, const char* name) const {
        return isValid(capsule, name) != 0 ? pointerOf(capsule, name) : nullptr;
    }
    bool isThere = true;

 private:
    template <class Symbol>
    void find(Symbol& symbol, const char* name) {
        symbol = reinterpret_cast<Symbol>(::dlsym(RTLD_DEFAULT, name));
        isThere = isThere && symbol != nullptr;
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

/// Returns a capsule or None; null with Python's error set.
void* capsuleOf(millrace_batch* batch, const millrace_part& part) {
    void* tensor = millrace_batch_dlpack(batch, part.column, part.part);
    if (tensor == nullptr) {
        python().keep(python().none);
        return python().none;
    }
    void* capsule = python().newCapsule(tensor, kTensorName, destroyTensorCapsule);
    if (capsule == nullptr) {
        deleteExported(static_cast<DlManagedTensor*>(tensor));
    }
    return capsule;
}

}  // namespace
}  // namespace millrace::ring

namespace ring = millrace::ring;

void* millrace_batch_dlpack(millrace_batch* batch, std::size_t column, std::int32_t part) {
    if (column >= batch->directory.header().columns) {
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

int millrace_batch_lengths(const millrace_batch* batch, const std::uint32_t* columns,
                           std::size_t num_columns, std::int64_t* lengths, std::size_t max,
                           std::size_t* count) {
    const ring::FrameDirectory& directory = batch->directory;
    if (count == nullptr || (columns == nullptr && num_columns > 0)) {
        return MILLRACE_FEED_INVALID;
    }
    *count = 0;
    for (std::size_t i = 0; i < num_columns; ++i) {
        if (columns[i] >= directory.header().columns) {
            return MILLRACE_FEED_INVALID;
        }
        *count += directory.entries()[columns[i]].items;
    }
    if (*count > max || lengths == nullptr) {
        return 0;
    }
    for (std::size_t i = 0; i < num_columns; ++i) {
        const millrace_column column = directory.column(columns[i], batch->bytes);
        if (column.offsets == nullptr) {
            std::fill_n(lengths, column.items, 1);
        } else {
            std::transform(column.offsets + 1, column.offsets + 1 + column.items, column.offsets,
                           lengths, std::minus<>());
        }
        lengths += column.items;
    }
    return 0;
}

void* millrace_python_batch(millrace_batch* batch) {
    const ring::Python& python = ring::python();
    return python.isThere ? python.newCapsule(batch, ring::kBatchName, ring::destroyBatchCapsule)
                          : nullptr;
}

void* millrace_python_tensors(millrace_batch* batch, const millrace_part* parts,
                              std::size_t count) {
    const ring::Python& python = ring::python();
    void* list = python.isThere ? python.newList(static_cast<std::ptrdiff_t>(count)) : nullptr;
    for (std::size_t i = 0; list != nullptr && i < count; ++i) {
        void* item = ring::capsuleOf(batch, parts[i]);
        if (item == nullptr) {
            python.letGo(list);
            list = nullptr;
        } else {
            static_cast<void>(python.setItem(list, static_cast<std::ptrdiff_t>(i), item));
        }
    }
    return list;
}

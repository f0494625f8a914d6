#pragma once
// The structs of DLPack 0.x, an ABI with which libraries pass tensors to each other
// (https://dmlc.github.io/dlpack/latest/c_api.html).
//
// Threads: any. Owns: see the deleter. Failure: none. No dependencies.
#include <cstdint>

namespace millrace::ring {

inline constexpr std::int32_t kDlCpu = 1;
inline constexpr std::uint8_t kDlInt = 0, kDlUInt = 1, kDlFloat = 2;

struct DlDataType {
    std::uint8_t code = kDlUInt, bits = 8;
    std::uint16_t lanes = 1;
};

struct DlTensor {
    void* data = nullptr;
    std::int32_t deviceType = kDlCpu, deviceId = 0;
    std::int32_t numDims = 0;
    DlDataType dtype;
    std::int64_t* shape = nullptr;
    std::int64_t* strides = nullptr;  ///< null: row-major
    std::uint64_t byteOffset = 0;
};

/// The holder calls the deleter once.
struct DlManagedTensor {
    DlTensor tensor;
    void* context = nullptr;
    void (*deleter)(DlManagedTensor*) = nullptr;
};
static_assert(sizeof(DlManagedTensor) == 64);

}  // namespace millrace::ring

#include "backend/arrays/kernels.h"

#include <dlfcn.h>

#include <arrow/status.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::arrays {
namespace {

// Declared in arrow/compute/initialize.h; linked, its library would be loaded at every start.
constexpr const char* kInitialize = "_ZN5arrow7compute10InitializeEv";

// The library stays: what it registers is called until the process ends.
Status loadKernels() {
    void* const library = ::dlopen(MILLRACE_ARROW_COMPUTE, RTLD_NOW | RTLD_LOCAL);
    void* const found = library == nullptr ? nullptr : ::dlsym(library, kInitialize);
    if (found == nullptr) {
        const char* const why = ::dlerror();
        return internalError("Arrow's kernels: ", why == nullptr ? "not found" : why, "; ",
                             MILLRACE_ARROW_COMPUTE,
                             " belongs into ../lib of the program's folder");
    }
    return fromArrow(reinterpret_cast<arrow::Status (*)()>(found)(), "Arrow's kernels");
}

}  // namespace

Status needKernels() {
    static const Status kLoaded = loadKernels();
    return kLoaded;
}

}  // namespace millrace::arrays

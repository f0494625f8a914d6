#include "backend/arrays/kernels.h"

#include <array>

#include <dlfcn.h>

#include <arrow/status.h>
#include <climits>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::arrays {
namespace {

// Declared in arrow/compute/initialize.h; linking it would load its library at every start.
constexpr const char* kInitialize = "_ZN5arrow7compute10InitializeEv";

// Looks first beside Arrow's core, which is loaded already: a sanitizer's dlopen() does not know
// the program's own library paths.
void* open(const char* name) {
    void* const core = ::dlopen(MILLRACE_ARROW, RTLD_NOW | RTLD_NOLOAD);
    std::array<char, PATH_MAX> place{};
    if (core != nullptr && ::dlinfo(core, RTLD_DI_ORIGIN, place.data()) == 0) {
        if (void* const library =
                ::dlopen(strCat(place.data(), "/", name).c_str(), RTLD_NOW | RTLD_LOCAL)) {
            return library;
        }
    }
    return ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

// The library stays loaded: functions that it registers are called until the process ends.
Status loadKernels() {
    void* const library = open(MILLRACE_ARROW_COMPUTE);
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

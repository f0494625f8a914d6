#include "backend/train/torch/settings.h"

#include <mutex>

#include <ATen/Context.h>
#include <ATen/Parallel.h>

namespace millrace::train {

void fixArithmetic(int threads, bool isDeterministic) {
    at::globalContext().setDeterministicAlgorithms(isDeterministic, false);
    at::globalContext().setDeterministicFillUninitializedMemory(false);
    at::set_num_threads(threads);
    // LibTorch accepts it once, but ranks that are threads of one process may get here together.
    static std::once_flag isSet;
    std::call_once(isSet, [] { at::set_num_interop_threads(1); });
}

FreeOrder::FreeOrder() : was_(at::globalContext().deterministicAlgorithms()) {
    at::globalContext().setDeterministicAlgorithms(false, false);
}

FreeOrder::~FreeOrder() {
    at::globalContext().setDeterministicAlgorithms(was_, false);
}

}  // namespace millrace::train

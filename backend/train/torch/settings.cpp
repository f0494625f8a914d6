#include "backend/train/torch/settings.h"

#include <mutex>

#include <ATen/Context.h>
#include <ATen/Parallel.h>

namespace millrace::train {

void fixArithmetic(int threads, bool isDeterministic) {
    at::globalContext().setDeterministicAlgorithms(isDeterministic, false);
    at::globalContext().setDeterministicFillUninitializedMemory(false);
    at::set_num_threads(threads);
    // LibTorch takes it once; learners of several ranks of one process may come at the same time.
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

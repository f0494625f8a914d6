#include "backend/train/torch/settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

namespace millrace::train {

void fixArithmetic(int threads, bool isDeterministic) {
    at::globalContext().setDeterministicAlgorithms(isDeterministic, false);
    at::globalContext().setDeterministicFillUninitializedMemory(false);
    at::set_num_threads(threads);
    if (at::get_num_interop_threads() != 1) {
        at::set_num_interop_threads(1);
    }
}

FreeOrder::FreeOrder() : was_(at::globalContext().deterministicAlgorithms()) {
    at::globalContext().setDeterministicAlgorithms(false, false);
}

FreeOrder::~FreeOrder() {
    at::globalContext().setDeterministicAlgorithms(was_, false);
}

}  // namespace millrace::train

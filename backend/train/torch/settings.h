#pragma once
// LibTorch settings of the whole process.

namespace millrace::train {

/// `threads`: per call on a CPU. `isDeterministic`: avoids kernels whose bits may differ between
/// runs.
void fixArithmetic(int threads, bool isDeterministic);

/// Allows nondeterministic kernels while it lives. Use it only where each element is written once:
/// the result is deterministic then.
class FreeOrder {
 public:
    FreeOrder();
    ~FreeOrder();
    FreeOrder(const FreeOrder&) = delete;
    FreeOrder& operator=(const FreeOrder&) = delete;

 private:
    bool was_;
};

}  // namespace millrace::train

#pragma once
// What holds for all tensors of the process.

namespace millrace::train {

/// Threads of a call on a CPU; whether kernels that may give other bits from run to run are left
/// alone.
void fixArithmetic(int threads, bool isDeterministic);

/// While it lives, kernels that need not be deterministic may run: where each place is written
/// once, their result is.
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

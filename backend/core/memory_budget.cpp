#include "backend/core/memory_budget.h"

namespace millrace {
namespace {

Status overBudget(std::int64_t bytes, std::int64_t used, std::int64_t limit,
                  std::string_view what) {
    return resourceExhausted(what, " needs ", (bytes + 999'999) / 1'000'000, " MB, but ",
                             used / 1'000'000, " MB of memory_limit_mb ", limit / 1'000'000,
                             " are taken; raise memory_limit_mb");
}

}  // namespace

Result<MemoryBudget::Reservation> MemoryBudget::reserve(std::int64_t bytes, std::string_view what) {
    MutexLock lock(mutex_);
    if (usedBytes_ + bytes > limitBytes_) {
        return overBudget(bytes, usedBytes_, limitBytes_, what);
    }
    usedBytes_ += bytes;
    return Reservation(this, bytes);
}

std::int64_t MemoryBudget::usedBytes() const {
    MutexLock lock(mutex_);
    return usedBytes_;
}

void MemoryBudget::give(std::int64_t bytes) {
    MutexLock lock(mutex_);
    usedBytes_ -= bytes;
}

void MemoryBudget::Reservation::release() {
    if (budget_ != nullptr) {
        budget_->give(bytes_);
    }
    budget_ = nullptr;
    bytes_ = 0;
}

}  // namespace millrace

#pragma once
// One memory budget per process: large consumers of memory reserve it here first.
//
// Threads: any. Ownership: a Reservation returns its bytes when it is destroyed; the budget
// outlives it.
#include <cstdint>

#include "backend/core/mutex.h"
#include "backend/core/status.h"

namespace millrace {

class MemoryBudget {
 public:
    class Reservation {
     public:
        Reservation() = default;
        Reservation(MemoryBudget* budget, std::int64_t bytes) : budget_(budget), bytes_(bytes) {}
        Reservation(Reservation&& other) noexcept { swap(other); }
        Reservation& operator=(Reservation&& other) noexcept {
            Reservation moved(std::move(other));
            swap(moved);
            return *this;
        }
        ~Reservation() { release(); }
        std::int64_t bytes() const { return bytes_; }
        void release();

     private:
        void swap(Reservation& other) noexcept {
            std::swap(budget_, other.budget_);
            std::swap(bytes_, other.bytes_);
        }
        MemoryBudget* budget_ = nullptr;
        std::int64_t bytes_ = 0;
    };

    explicit MemoryBudget(std::int64_t limitBytes) : limitBytes_(limitBytes) {}

    /// Fails with kResourceExhausted, naming `what`, its size, the reserved bytes and the limit.
    Result<Reservation> reserve(std::int64_t bytes, std::string_view what);

    std::int64_t limitBytes() const { return limitBytes_; }
    std::int64_t usedBytes() const;

 private:
    void give(std::int64_t bytes);
    const std::int64_t limitBytes_;
    mutable Mutex mutex_;
    std::int64_t usedBytes_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace

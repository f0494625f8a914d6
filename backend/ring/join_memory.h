#pragma once
// Reusable memory for micro-batches that are collected until their step has ended.
//
// Threads: any. Owns: unused memory, kept for the next step while the budget suffices; a Buffer
// owns the memory in use. Outlives its buffers. Failure: kResourceExhausted if the budget does not
// suffice and no buffer will be returned, kCancelled on stop.
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/frame/frame.h"

namespace millrace::ring {

class JoinMemory {
    struct Piece {
        frame::FrameBuffer memory;
        MemoryBudget::Reservation budget;
    };

 public:
    /// Returns its memory when it is destroyed.
    class Buffer {
     public:
        Buffer() = default;
        Buffer(JoinMemory* owner, Piece piece) : owner_(owner), piece_(std::move(piece)) {}
        Buffer(Buffer&& other) noexcept
            : owner_(std::exchange(other.owner_, nullptr)), piece_(std::move(other.piece_)) {}
        Buffer& operator=(Buffer&&) = delete;
        ~Buffer();
        std::span<std::byte> bytes() { return piece_.memory.bytes(); }

     private:
        JoinMemory* owner_ = nullptr;
        Piece piece_;
    };

    /// `budget` null: no limit.
    explicit JoinMemory(MemoryBudget* budget) : budget_(budget) {}
    JoinMemory(const JoinMemory&) = delete;
    JoinMemory& operator=(const JoinMemory&) = delete;

    /// At least `bytes` bytes. Waits while there are none and more than `keptOut` buffers are in
    /// use: those that are not returned before this call succeeds.
    Result<Buffer> take(std::uint64_t bytes, std::size_t keptOut, const std::stop_token& stop);

 private:
    Result<Piece> makeLocked(std::uint64_t bytes) MR_REQUIRES(mutex_);
    void give(Piece piece);

    MemoryBudget* const budget_;
    Mutex mutex_;
    CondVar changed_;
    std::vector<Piece> spare_ MR_GUARDED_BY(mutex_);
    std::size_t out_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::ring

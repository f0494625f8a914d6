#pragma once
// Memory for micro-batches that are collected until their step has ended, used again and again.
//
// Threads: any. Owns: what nobody has now, kept for the next step as long as the budget is enough;
// what is out belongs to its Buffer. Outlives its buffers. Failure: kResourceExhausted when the
// budget does not have it and nothing is to come back, kCancelled on stop.
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
    /// Goes back when it dies.
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

    /// At least so many bytes. Waits as long as there are none and more than `keptOut` buffers are
    /// out: those that do not come back before this one is had.
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

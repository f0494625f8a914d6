#include "backend/ring/join_memory.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace millrace::ring {

JoinMemory::Buffer::~Buffer() {
    if (owner_ != nullptr) {
        owner_->give(std::move(piece_));
    }
}

void JoinMemory::give(Piece piece) {
    MutexLock lock(mutex_);
    --out_;
    spare_.push_back(std::move(piece));
    changed_.notifyAll();
}

/// Micro-batches of a stream have similar sizes, so memory of one fits most others.
Result<JoinMemory::Piece> JoinMemory::makeLocked(std::uint64_t bytes) {
    const auto fits = std::ranges::find_if(
        spare_, [&](const Piece& piece) { return piece.memory.size() >= bytes; });
    if (fits != spare_.end()) {
        Piece piece = std::move(*fits);
        spare_.erase(fits);
        return piece;
    }
    if (!spare_.empty()) {
        spare_.pop_back();  // too small for this request
    }
    Piece piece;
    const std::uint64_t size = bytes + bytes / 8;
    if (budget_ != nullptr) {
        const auto reserve = [&] {
            return budget_->reserve(static_cast<std::int64_t>(size),
                                    "micro-batches of a step that are joined");
        };
        auto reserved = reserve();
        if (!reserved.ok() && !spare_.empty()) {
            spare_.clear();
            reserved = reserve();
        }
        RETURN_IF_ERROR(reserved.status());
        piece.budget = *std::move(reserved);
    }
    piece.memory = frame::FrameBuffer(size);
    return piece;
}

Result<JoinMemory::Buffer> JoinMemory::take(std::uint64_t bytes, std::size_t keptOut,
                                            const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kLook{100};  // to notice stops and freed budget
    MutexLock lock(mutex_);
    for (;;) {
        Result<Piece> piece = makeLocked(bytes);
        if (piece.ok()) {
            ++out_;
            return Buffer(this, *std::move(piece));
        }
        if (piece.status().code() != absl::StatusCode::kResourceExhausted || out_ <= keptOut) {
            return piece.status();
        }
        if (stop.stop_requested()) {
            return cancelled("ring: stopped");
        }
        changed_.waitFor(mutex_, kLook);
    }
}

}  // namespace millrace::ring

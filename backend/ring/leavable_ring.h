#pragma once
// The ring of a reader that may leave while other readers of the same pass continue: later frames
// for it are discarded.
//
// Threads: as FrameSink. Owns: the memory of discarded frames until they are committed.
// Failure: kUnavailable once all readers of the pass have left; otherwise the ring's errors.
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "backend/core/mutex.h"
#include "backend/frame/frame.h"
#include "backend/ring/ring_writer.h"

namespace millrace::ring {

class LeavableRing final : public StepSink {
 public:
    /// `present`: number of readers of the pass that have not left; at first all.
    LeavableRing(std::shared_ptr<StepSink> ring, std::shared_ptr<std::atomic<int>> present)
        : ring_(std::move(ring)), present_(std::move(present)) {}

    bool wants(std::uint32_t epoch, std::int64_t number) const override;
    Result<FrameSlot> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                              std::stop_token stop) override;
    Status commit(const FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override;
    Status segment(const stream::SegmentRecord& record, std::stop_token stop) override;
    Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) override;
    Status endOfStream(std::stop_token stop) override;
    Status error(const Status& why, std::stop_token stop) override;
    Status columns(std::span<const std::byte> frame, std::stop_token stop) override;
    Status commitJoined(const FrameSlot& slot, const FrameNumbers& of,
                        std::uint64_t bytes) override;
    Status commitNothing(const FrameSlot& slot) override;
    Status park(const FrameSlot& slot) override;
    Result<FrameSlot> reserveStep(std::stop_token stop) override;
    Status commitStep(const FrameSlot& slot, const stream::StepMark& mark) override;

 private:
    Status left(Status status);
    Result<FrameSlot> scratch(std::uint64_t bytes);
    template <class Call>
    Status told(Call call) {
        return hasLeft_.load() ? left(okStatus()) : left(call());
    }
    template <class Call>
    Status filled(const FrameSlot& slot, Call call);

    const std::shared_ptr<StepSink> ring_;
    const std::shared_ptr<std::atomic<int>> present_;
    std::atomic<bool> hasLeft_ = false;
    Mutex mutex_;
    std::uint64_t numScratch_ MR_GUARDED_BY(mutex_) = 0;
    std::map<std::uint64_t, frame::FrameBuffer> scratch_ MR_GUARDED_BY(mutex_);  ///< by ticket
};

}  // namespace millrace::ring

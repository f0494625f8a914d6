#pragma once
// Sinks of `millrace stream`: sums over the sequence, and wrappers around another sink.
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/ring/frame_sink.h"
#include "backend/segment/memory/buffer_pool.h"
#include "backend/stream/state/order_hash.h"
#include "backend/stream/state/step_mark.h"
#include "daemon/worker/loader/checksum.h"
#include "daemon/worker/loader/frame_slots.h"

namespace millrace::loader {

/// How an epoch's last step is marked, and what happens if it is not whole.
struct StepRule {
    std::int64_t stepBatches = 1;  ///< micro-batches of a whole step
    std::int64_t microRows = 1;
    stream::LastStep last = stream::LastStep::kKeep;
};

/// Counts of the rows that SumSink summed, or that it left out; of the latter it keeps nothing
/// else.
struct SummedRows {
    std::int64_t rows = 0, batches = 0;
};

/// Reads frames and drops them: always the order hash, every value if `reads`. Threads: as for
/// FrameSink. The thread that filled a frame reads it, while it is in the cache. The sums are added
/// in the order of the sequence, so they do not depend on threads. If last steps are dropped, the
/// sums of the current step wait until it is whole.
class SumSink final : public ring::FrameSink {
 public:
    using Clock = std::chrono::steady_clock;

    SumSink(segment::BufferPool& pool, bool reads, const StepRule& rule = {})
        : slots_(pool), reads_(reads), rule_(rule) {}

    Result<ring::FrameSlot> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                                    std::stop_token stop) override;
    Status commit(const ring::FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override;
    Status segment(const stream::SegmentRecord&, std::stop_token) override { return okStatus(); }
    Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) override;
    Status endOfStream(std::stop_token) override { return okStatus(); }
    Status error(const Status&, std::stop_token) override { return okStatus(); }

    /// Call it once, after the sequencer's run(): nothing follows. The current step is an epoch's
    /// last if that epoch has ended.
    void close();
    const Checksum& checksum() const { return checksum_; }
    stream::OrderHash orderHash() const;
    SummedRows leftOut() const;
    std::optional<Clock::time_point> firstFrame() const;
    const std::vector<Clock::time_point>& epochEnds() const { return epochEnds_; }

 private:
    /// A micro-batch.
    struct Part {
        std::uint32_t epoch = 0;
        std::int64_t number = 0, rows = 0;
        stream::OrderHash order;
        Checksum sums;
    };
    void joinLocked() MR_REQUIRES(mutex_);
    void addToStepLocked(Part part) MR_REQUIRES(mutex_);
    void keepStepLocked() MR_REQUIRES(mutex_);
    void dropStepLocked() MR_REQUIRES(mutex_);

    FrameSlots slots_;
    const bool reads_;
    const StepRule rule_;
    mutable Mutex mutex_;
    std::map<std::uint64_t, Part> finished_ MR_GUARDED_BY(mutex_);  ///< by ticket
    std::uint64_t nextJoined_ MR_GUARDED_BY(mutex_) = 0;
    std::vector<Part> step_ MR_GUARDED_BY(mutex_);  ///< the current step, if last steps are dropped
    SummedRows leftOut_ MR_GUARDED_BY(mutex_);
    stream::OrderHash orderHash_ MR_GUARDED_BY(mutex_);
    std::optional<Clock::time_point> first_ MR_GUARDED_BY(mutex_);
    Checksum checksum_;
    std::optional<std::uint32_t> endedEpoch_;
    std::vector<Clock::time_point> epochEnds_;
};

/// Passes on the first `most` micro-batches and then stops the sequence, with kCancelled.
/// Threads: as for FrameSink. The sink behind it outlives it.
class LimitedSink final : public ring::FrameSink {
 public:
    /// `most` 0: all of them.
    LimitedSink(ring::FrameSink& sink, std::int64_t most) : sink_(sink), most_(most) {}

    bool wants(std::uint32_t epoch, std::int64_t number) const override {
        return sink_.wants(epoch, number);
    }
    Status leftOut(std::uint32_t epoch, std::int64_t number, std::int64_t rows,
                   const Sum128& rowIds, std::stop_token stop) override {
        return sink_.leftOut(epoch, number, rows, rowIds, std::move(stop));
    }
    Result<ring::FrameSlot> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                                    std::stop_token stop) override {
        if (most_ > 0 && given_ == most_) {
            hasEnough_ = true;
            return cancelled("enough micro-batches");
        }
        ++given_;
        return sink_.reserve(bytes, epoch, number, std::move(stop));
    }
    Status commit(const ring::FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override {
        return sink_.commit(slot, epoch, number);
    }
    Status segment(const stream::SegmentRecord& record, std::stop_token stop) override {
        return sink_.segment(record, std::move(stop));
    }
    Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) override {
        return sink_.endOfEpoch(epoch, total, std::move(stop));
    }
    Status endOfStream(std::stop_token stop) override { return sink_.endOfStream(std::move(stop)); }
    Status error(const Status& why, std::stop_token stop) override {
        return sink_.error(why, std::move(stop));
    }

    /// OK instead of the end that this sink caused.
    Status statusOf(const Status& status) const {
        return hasEnough_ && status.code() == absl::StatusCode::kCancelled ? okStatus() : status;
    }
    bool hasEnough() const { return hasEnough_; }

 private:
    ring::FrameSink& sink_;
    const std::int64_t most_;
    std::int64_t given_ = 0;  ///< of the delivering thread, like reserve()
    std::atomic<bool> hasEnough_{false};
};

}  // namespace millrace::loader

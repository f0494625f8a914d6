#pragma once
// Deals the sequence to the ranks' rings, and marks in all of them where each step ends.
//
// Micro-batches go by the number's remainder, records to all. Behind a step's last record a mark
// stands in every ring: behind every record whose first micro-batch lies before the step's end,
// before every other that has micro-batches, and behind the ring's own frames of the step. So
// all readers see the same steps, and what each knows at a mark is the same; also a ring that got
// no frame, and also where only some of the ranks are served here.
//
// A ring may get its micro-batches of a step as one frame (Rank::join): they are collected in
// memory of the budget and put together behind the step's last record, by whoever commits the last
// of them; where a ring's share is one micro-batch it is filled in the ring as any other. An
// epoch's last step that is not whole may be left out (Options::last): the sums of the sequence
// have nothing of it, and a joined ring gets no frame.
//
// Threads: as FrameSink says. A mark is filled by whoever commits the last frame before it, of all
// rings. Owns: shares of the rings. Failure: kUnavailable when a rank is gone; kResourceExhausted
// when the budget is too small for the micro-batches of one step.
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/core/mutex.h"
#include "backend/frame/frame.h"
#include "backend/ring/feed_server.h"
#include "backend/ring/join_memory.h"
#include "backend/ring/ring_writer.h"
#include "backend/stream/state/step_mark.h"
#include "backend/stream/state/stream_state.h"

namespace millrace::ring {

class RingSink final : public FrameSink {
 public:
    struct Rank {
        int rank = 0;
        std::shared_ptr<StepSink> ring;
        std::optional<FeedPosition> next;  ///< frames before it were delivered already
        bool join = false;                 ///< as FeedHello::join
    };
    struct Options {
        int worldSize = 1;             ///< >= 1
        std::int64_t perStep = 1;      ///< micro-batches of a step, over all ranks
        stream::OrderHash orderHash;   ///< of the sequence before the place where it is begun
        std::int64_t rowsDelivered{};  ///< likewise
        std::int64_t rowsLeftOut{};    ///< likewise
        stream::LastStep last = stream::LastStep::kKeep;  ///< as FeedHello::last of all ranks
        std::int64_t microRows = 0;                       ///< for `last` and joined ranks
        /// Of the frames; outlives the sink. Told to the readers (millrace_feed_schema) before
        /// anything else. Null: they are not told, and no rank is joined.
        const frame::FrameLayout* layout = nullptr;
        MemoryBudget* budget = nullptr;  ///< of what joined ranks' steps are collected in

        /// Where a rank's state says, whose cursor is where the stream is begun.
        void beginAt(const stream::StreamState& state) {
            orderHash = state.orderHash;
            rowsDelivered = state.rowsDelivered;
            rowsLeftOut = state.rowsLeftOut;
        }
    };
    /// `ranks`: those served here; the others' frames are left out, and counted.
    RingSink(std::vector<Rank> ranks, const Options& options);

    /// Tells the readers the columns. Whoever delivers may call it early; the first thing that is
    /// delivered does it otherwise.
    Status begin(const std::stop_token& stop);

    bool wants(std::uint32_t epoch, std::int64_t number) const override;
    Status leftOut(std::uint32_t epoch, std::int64_t number, std::int64_t rows,
                   const Sum128& rowIds, std::stop_token stop) override;
    Result<FrameSlot> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                              std::stop_token stop) override;
    Status commit(const FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override;
    Status segment(const stream::SegmentRecord& record, std::stop_token stop) override;
    Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) override;
    Status endOfStream(std::stop_token stop) override;
    Status error(const Status& why, std::stop_token stop) override;
    /// A call was refused because a reader had gone.
    bool hasLostReader() const { return hasLostReader_; }

 private:
    enum class Fate { kOpen, kDelivered, kLeftOut };
    /// What a joined ring gets of one step. Guarded by mutex_ until it is written.
    struct Joint {
        std::size_t ring = 0;
        FrameNumbers numbers;
        std::vector<JoinMemory::Buffer> parts;  ///< empty: filled in the ring itself
        std::uint64_t bytes = 0;                ///< of all parts
        std::int64_t missing = 0;               ///< parts that are not committed
        std::optional<FrameSlot> slot;          ///< in the ring
        Fate fate = Fate::kOpen;
        bool isTaken = false;    ///< somebody puts the parts together
        bool isWritten = false;  ///< the slot has its content, of `bytes`
    };
    /// A step whose mark is not filled yet; the last one may still be open.
    struct Step {
        stream::StepMark mark;     ///< but for the sums of the sequence and the shares
        std::int64_t end = 0;      ///< where it ends when its epoch does not
        std::int64_t missing = 0;  ///< micro-batches given and not committed
        Sum128 hash;               ///< of those that are
        Fate fate = Fate::kOpen;
        std::vector<stream::StepMark::Share> shares;  ///< by ring
        std::vector<std::shared_ptr<Joint>> joints;   ///< by ring; null: none
        std::vector<FrameSlot> slots;                 ///< by ring, once the step has ended
    };

    std::size_t ringOf(std::int64_t number) const;
    Status closeBefore(std::uint32_t epoch, std::int64_t number, const std::stop_token& stop);
    Status closeStep(bool isLast, const std::stop_token& stop);
    Result<FrameSlot> reserveJoined(std::uint64_t bytes, std::size_t ring, std::int64_t number,
                                    const std::stop_token& stop);
    void give(std::uint32_t epoch, std::int64_t number);
    Status count(std::uint32_t epoch, std::int64_t number, std::int64_t rows, const Sum128& rowIds);
    Step& stepOfLocked(std::uint32_t epoch, std::int64_t number) MR_REQUIRES(mutex_);
    Status settleLocked(Step& step) MR_REQUIRES(mutex_);
    Status settleJointLocked(Joint& joint) MR_REQUIRES(mutex_);
    Status commitPart(const std::shared_ptr<Joint>& joint);
    Status writeJoint(Joint& joint);
    Result<std::uint64_t> join(Joint& joint) const;
    Status fillMarksLocked() MR_REQUIRES(mutex_);
    Status noted(Status status) {
        if (status.code() == absl::StatusCode::kUnavailable) {
            hasLostReader_ = true;
        }
        return status;
    }
    template <class Call>
    Status all(Call call) {
        for (const Rank& rank : ranks_) {
            RETURN_IF_ERROR(noted(call(*rank.ring)));
        }
        return okStatus();
    }

    const std::vector<Rank> ranks_;
    const int worldSize_;
    const std::int64_t perStep_, microRows_;
    const stream::LastStep last_;
    const frame::FrameLayout* const layout_;
    JoinMemory memory_;
    std::atomic<bool> hasLostReader_{false};

    // Of the thread that delivers.
    bool isBegun_ = false;
    bool isOpen_ = false;  ///< the last of steps_ takes more micro-batches
    std::int64_t openEnd_ = 0;
    std::size_t openParts_ = 0;  ///< of the open step, in memory_

    Mutex mutex_;
    std::deque<Step> steps_ MR_GUARDED_BY(mutex_);
    stream::OrderHash orderHash_ MR_GUARDED_BY(mutex_);  ///< up to the last mark that was filled
    std::int64_t rowsDelivered_ MR_GUARDED_BY(mutex_);
    std::int64_t rowsLeftOut_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::ring

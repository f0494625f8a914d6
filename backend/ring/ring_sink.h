#pragma once
// Distributes the sequence over the ranks' rings, and marks the end of each step in all of them.
//
// Micro-batches go to rank number % worldSize, records to all rings. A mark follows a step's last
// record in every ring. It comes behind every record whose first micro-batch is before the step's
// end, before every other record with micro-batches, and behind the ring's own frames of the step.
// So all readers see the same steps and know the same at a mark. That also holds for a ring without
// a frame in the step, and if only some of the ranks are served here.
//
// A ring may get its micro-batches of a step as one frame (Rank::join). They are collected in
// memory of the budget and joined behind the step's last record, by the thread that commits the
// last of them. If a ring's share is one micro-batch, it is filled in the ring like any other. An
// epoch's last, incomplete step may be left out (Options::last): the sums of the sequence then
// exclude it, and a joined ring gets no frame.
//
// The ring of a rank on another node may take references to frames that data workers hold
// (Rank::ledgerRing), alone or as parts of a joined frame, which the rank's relay then joins.
//
// Threads: as FrameSink. A mark is filled by the thread that commits the last frame before it, of
// all rings. Owns: shares of the rings. Failure: kUnavailable when a rank is gone;
// kResourceExhausted when the budget is too small for the micro-batches of one step.
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
#include "backend/ring/frame_ledger.h"
#include "backend/ring/frame_parts.h"
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
        /// Where the frames that workers owe to the ring are counted; 0: it takes no references.
        FrameLedger::RingId ledgerRing = 0;
    };
    struct Options {
        int worldSize = 1;             ///< >= 1
        std::int64_t perStep = 1;      ///< micro-batches of a step, over all ranks
        stream::OrderHash orderHash;   ///< of the sequence before the place where it is begun
        std::int64_t rowsDelivered{};  ///< likewise
        std::int64_t rowsLeftOut{};    ///< likewise
        stream::LastStep last = stream::LastStep::kKeep;  ///< as FeedHello::last of all ranks
        std::int64_t microRows = 0;                       ///< for `last` and joined ranks
        /// The frames' schema; outlives the sink. It is sent to the readers (millrace_feed_schema)
        /// before anything else. Null: it is not sent, and no rank may be joined.
        const frame::FrameLayout* layout = nullptr;
        MemoryBudget* budget = nullptr;  ///< for collecting the steps of joined ranks
        FrameLedger* ledger = nullptr;   ///< of Rank::ledgerRing; null: no rank takes references

        /// Continues the sums of a rank's state, whose cursor is where the stream is begun.
        void beginAt(const stream::StreamState& state) {
            orderHash = state.orderHash;
            rowsDelivered = state.rowsDelivered;
            rowsLeftOut = state.rowsLeftOut;
        }
    };
    /// `ranks`: those served here; frames of other ranks are left out, and counted.
    RingSink(std::vector<Rank> ranks, const Options& options);

    /// Sends the columns to the readers. The delivering thread may call it early; otherwise the
    /// first delivery does.
    Status begin(const std::stop_token& stop);

    bool wants(std::uint32_t epoch, std::int64_t number) const override;
    Status leftOut(std::uint32_t epoch, std::int64_t number, std::int64_t rows,
                   const Sum128& rowIds, std::stop_token stop) override;
    bool takesParts() const override;
    bool takesPart(std::uint64_t worker, std::uint32_t epoch, std::int64_t number) const override;
    Result<bool> part(const stream::FramePart& part, std::shared_ptr<const void> owner,
                      std::uint32_t epoch, std::int64_t number, std::stop_token stop) override;
    Result<FrameSlot> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                              std::stop_token stop) override;
    Status commit(const FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override;
    Status segment(const stream::SegmentRecord& record, std::stop_token stop) override;
    Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) override;
    Status endOfStream(std::stop_token stop) override;
    Status error(const Status& why, std::stop_token stop) override;
    /// Whether a call failed because a reader had gone.
    bool hasLostReader() const { return hasLostReader_; }

 private:
    enum class FrameState { kOpen, kDelivered, kLeftOut };
    /// A micro-batch of a joined frame: its frame, or a reference to it.
    struct Part {
        std::optional<JoinMemory::Buffer> memory;  ///< released once it is joined
        stream::FramePart reference;               ///< worker 0: none
        FrameLedger::Debt debt;
    };
    /// The joined frame of one ring in one step. Guarded by mutex_ until it is written.
    struct Joint {
        std::size_t ring = 0;
        FrameNumbers numbers;
        std::vector<Part> parts;        ///< empty: filled in the ring itself
        std::uint64_t bytes = 0;        ///< of the frames of all parts
        std::size_t numReferences = 0;  ///< above 0: its relay joins the parts
        std::int64_t missing = 0;       ///< parts that are not committed
        std::optional<FrameSlot> slot;  ///< in the ring
        FrameState fate = FrameState::kOpen;
        bool isTaken = false;    ///< a thread is joining the parts
        bool isWritten = false;  ///< the slot has its content, of `bytes`
    };
    /// A step whose mark is not filled yet; the last one may still be open.
    struct Step {
        stream::StepMark mark;     ///< without the sums of the sequence and the shares
        std::int64_t end = 0;      ///< where it ends unless its epoch ends first
        std::int64_t missing = 0;  ///< micro-batches reserved and not committed
        Sum128 hash;               ///< of the committed micro-batches
        FrameState fate = FrameState::kOpen;
        std::vector<stream::StepMark::Share> shares;  ///< by ring
        std::vector<std::shared_ptr<Joint>> joints;   ///< by ring; null: none
        std::vector<FrameSlot> slots;                 ///< by ring, once the step has ended
    };

    std::size_t ringOf(std::int64_t number) const;
    Status closeBefore(std::uint32_t epoch, std::int64_t number, const std::stop_token& stop);
    Status closeStep(bool isLast, const std::stop_token& stop);
    Result<FrameSlot> reserveJoined(std::uint64_t bytes, std::size_t ring, std::int64_t number,
                                    const std::stop_token& stop);
    std::shared_ptr<Joint> openJoint(std::size_t ring, std::int64_t number);
    static void addToJoint(Joint& joint, std::int64_t number, Part part, std::uint64_t bytes);
    void give(std::uint32_t epoch, std::int64_t number);
    Status count(std::uint32_t epoch, std::int64_t number, std::int64_t rows, const Sum128& rowIds);
    Step& stepOfLocked(std::uint32_t epoch, std::int64_t number) MR_REQUIRES(mutex_);
    Status settleLocked(Step& step) MR_REQUIRES(mutex_);
    Status settleJointLocked(Joint& joint) MR_REQUIRES(mutex_);
    Status commitPart(const std::shared_ptr<Joint>& joint);
    Status writeJoint(Joint& joint);
    static std::vector<RingPart> partsOf(Joint& joint);
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
    FrameLedger* const ledger_;
    JoinMemory memory_;
    std::atomic<bool> hasLostReader_{false};

    // Used by the delivering thread only.
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

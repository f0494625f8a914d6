#pragma once
// Deals the sequence to the ranks' rings, and marks in all of them where each step ends.
//
// Micro-batches go by the number's remainder, records to all. Behind a step's last record a mark
// stands in every ring: behind every record whose first micro-batch lies before the step's end,
// before every other that has micro-batches, and behind the ring's own frames of the step. So
// all readers see the same steps, and what each knows at a mark is the same; also a ring that got
// no frame, and also where only some of the ranks are served here.
//
// Threads: as FrameSink says. A mark is filled by whoever commits the last frame before it, of all
// rings. Owns: shares of the rings. Failure: kUnavailable when a rank is gone.
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/ring/feed_server.h"
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
    };
    struct Options {
        int worldSize = 1;             ///< >= 1
        std::int64_t perStep = 1;      ///< micro-batches of a step, over all ranks
        stream::OrderHash orderHash;   ///< of the sequence before the place where it is begun
        std::int64_t rowsDelivered{};  ///< likewise
    };
    /// `ranks`: those served here; the others' frames are left out, and counted.
    RingSink(std::vector<Rank> ranks, const Options& options);

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
    /// A step whose mark is not filled yet; the last one may still be open.
    struct Step {
        stream::StepMark mark;     ///< but for the sums of the sequence and the shares
        std::int64_t missing = 0;  ///< micro-batches given and not committed
        Sum128 hash;               ///< of those that are
        std::vector<stream::StepMark::Share> shares;  ///< by ring
        std::vector<FrameSlot> slots;                 ///< by ring, once the step is whole
    };

    std::size_t ringOf(std::int64_t number) const;
    Status closeBefore(std::uint32_t epoch, std::int64_t number, const std::stop_token& stop);
    Status closeStep(bool isLast, const std::stop_token& stop);
    void give(std::uint32_t epoch, std::int64_t number);
    Status count(std::uint32_t epoch, std::int64_t number, std::int64_t rows, const Sum128& rowIds);
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
    const std::int64_t perStep_;
    std::atomic<bool> hasLostReader_{false};

    // Of the thread that delivers.
    bool isOpen_ = false;  ///< the last of steps_ takes more micro-batches
    std::int64_t openEnd_ = 0;

    Mutex mutex_;
    std::deque<Step> steps_ MR_GUARDED_BY(mutex_);
    stream::OrderHash orderHash_ MR_GUARDED_BY(mutex_);  ///< up to the last mark that was filled
    std::int64_t rowsDelivered_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::ring

#pragma once
// LateSink: a sink with ranks that come later. The delivering thread waits for them, while segments
// are computed ahead as far as memory allows. So a feed works while its ranks load their libraries
// and models.
//
// Threads: deliverTo() and abandon() by one owner, the rest as for FrameSink. Failure: as RingSink;
// kCancelled if the ranks never came.
#include <memory>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/ring/ring_sink.h"

namespace millrace::loader {

class LateSink final : public ring::FrameSink {
 public:
    /// `ledger`: as RingSink::Options. While relays follow and no rank has come, no frame that a
    /// worker holds is fetched.
    explicit LateSink(const ring::FrameLedger* ledger) : ledger_(ledger) {}
    /// Call it once.
    void deliverTo(std::vector<ring::RingSink::Rank> ranks, const ring::RingSink::Options& options);
    bool hasRanks() const;
    /// No rank will come: ends the waits for ranks.
    void abandon();
    /// Whether a call failed because a reader was gone.
    bool hasLostReader() const;

    bool wants(std::uint32_t epoch, std::int64_t number) const override;
    Status leftOut(std::uint32_t epoch, std::int64_t number, std::int64_t rows,
                   const Sum128& rowIds, std::stop_token stop) override;
    bool takesParts() const override;
    bool takesPart(std::uint64_t worker, std::uint32_t epoch, std::int64_t number) const override;
    Result<bool> part(const stream::FramePart& part, std::shared_ptr<const void> owner,
                      std::uint32_t epoch, std::int64_t number, std::stop_token stop) override;
    Result<ring::FrameSlot> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                                    std::stop_token stop) override;
    Status commit(const ring::FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override;
    Status segment(const stream::SegmentRecord& record, std::stop_token stop) override;
    Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) override;
    Status endOfStream(std::stop_token stop) override;
    Status error(const Status& why, std::stop_token stop) override;

 private:
    ring::RingSink* await() const;
    template <class Call>
    auto with(Call call) const -> decltype(call(std::declval<ring::RingSink&>()));

    const ring::FrameLedger* const ledger_;
    mutable Mutex mutex_;
    mutable CondVar news_;
    std::unique_ptr<ring::RingSink> sink_ MR_GUARDED_BY(mutex_);  ///< set once, then kept
    bool isAbandoned_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::loader

#pragma once
// TableSink: `millrace stream --sink parquet|arrow|csv`: the sequence as a table on disk.
//
// The threads that filled frames convert them into record batches. Any of these threads writes them
// in the order of the sequence, when it is the next frame's turn. Threads: as for FrameSink.
// Failure: that of TableOutput; it ends the stream.
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/ring/frame_sink.h"
#include "backend/stream/state/order_hash.h"
#include "backend/table/frame_table.h"
#include "backend/table/table_output.h"
#include "daemon/worker/loader/frame_slots.h"

namespace millrace::loader {

class TableSink final : public ring::FrameSink {
 public:
    using Clock = std::chrono::steady_clock;

    /// `slots`: most frames given and not yet written, which bounds what waits for a slow disk.
    /// `output` has been started with the table's schema; all outlive the sink.
    TableSink(segment::BufferPool& pool, int slots, const table::FrameTable& frames,
              table::TableOutput& output)
        : slots_(pool),
          slotsMax_(static_cast<std::size_t>(slots)),
          frames_(frames),
          output_(output) {}

    Result<ring::FrameSlot> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                                    std::stop_token stop) override;
    Status commit(const ring::FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override;
    Status segment(const stream::SegmentRecord&, std::stop_token) override { return okStatus(); }
    Status endOfEpoch(std::uint32_t, std::int64_t, std::stop_token) override {
        epochEnds_.push_back(Clock::now());
        return okStatus();
    }
    Status endOfStream(std::stop_token) override { return okStatus(); }
    Status error(const Status&, std::stop_token) override { return okStatus(); }

    /// After the sequencer's run().
    stream::OrderHash orderHash() const;
    std::optional<Clock::time_point> firstFrame() const;
    const std::vector<Clock::time_point>& epochEnds() const { return epochEnds_; }

 private:
    FrameSlots slots_;
    const std::size_t slotsMax_;
    const table::FrameTable& frames_;
    table::TableOutput& output_;
    mutable Mutex mutex_;
    CondVar changed_;
    std::map<std::uint64_t, table::BatchPtr> ready_ MR_GUARDED_BY(mutex_);
    std::uint64_t given_ MR_GUARDED_BY(mutex_) = 0;
    std::uint64_t nextWritten_ MR_GUARDED_BY(mutex_) = 0;
    bool isWriting_ MR_GUARDED_BY(mutex_) = false;
    stream::OrderHash orderHash_ MR_GUARDED_BY(mutex_);
    std::optional<Clock::time_point> first_ MR_GUARDED_BY(mutex_);
    std::vector<Clock::time_point> epochEnds_;
};

}  // namespace millrace::loader

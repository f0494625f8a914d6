#pragma once
// SplitPass: one pass over the splits of a plan by several threads. Used by roles that need to know
// which rows the recipe keeps, in no order.
//
// A split that memory cannot hold beside the others is computed alone at the end. Threads: one
// owner; the pass has its own, joined before run() returns. Failure: that of the first failing
// split in the plan's order; kCancelled when it is stopped.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/segment/segment_runner.h"
#include "backend/segment/stream_input.h"

namespace millrace::loader {

class SplitPass {
 public:
    /// Called once for each split, by any thread.
    using Take = std::function<void(const segment::SegmentOutput& output)>;

    /// `input` has one split per segment; `poolBytes`: memory for the splits that are computed at
    /// one time.
    SplitPass(std::shared_ptr<const segment::StreamInput> input, std::int64_t poolBytes,
              int threads, Take take)
        : input_(std::move(input)), pool_(poolBytes), threads_(threads), take_(std::move(take)) {}

    Status run(std::uint32_t epoch, const std::stop_token& stop);
    /// In all passes so far.
    std::int64_t rowsScanned() const { return scanned_.load(); }
    const segment::StreamInput& input() const { return *input_; }

 private:
    void work(std::uint32_t epoch, const std::stop_token& stop);
    Status runOne(segment::SegmentRunner& runner, std::uint32_t epoch, std::int64_t segment,
                  const std::stop_token& stop);

    const std::shared_ptr<const segment::StreamInput> input_;
    segment::BufferPool pool_;
    const int threads_;
    const Take take_;
    segment::StageCounters counters_;
    std::atomic<std::int64_t> next_{0}, scanned_{0};
    Mutex mutex_;
    std::map<std::int64_t, Status> failed_ MR_GUARDED_BY(mutex_);  ///< by segment
    std::vector<std::int64_t> tooLarge_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::loader

#pragma once
// A reduced spec, and its rows, for roles that only look at some rows before training.
//
// Threads: one owner. Failure: those of StreamInput::open() and SegmentRunner.
#include <cstdint>
#include <memory>

#include "backend/core/memory_budget.h"
#include "backend/segment/segment_runner.h"
#include "backend/segment/stream_input.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

/// Returns the spec with `features` instead of its own, unshuffled, without a model and without
/// positions in the text.
spec::RunSpec bareSpec(spec::RunSpec spec, spec::FeaturesSpec features);

/// The rows of a reduced spec in its first epoch, segment after segment, on the caller's thread.
class SplitStream {
 public:
    struct Options {
        recipe::Part part = recipe::Part::kTrain;
        std::int64_t segmentSplits = 1;
        std::int64_t mostBytes = std::int64_t{4} << 30;  ///< of side tables and vocabularies
    };
    static Result<std::unique_ptr<SplitStream>> open(spec::RunSpec spec, stream::Plan plan,
                                                     const Options& options);
    static Result<std::unique_ptr<SplitStream>> open(spec::RunSpec spec, stream::Plan plan) {
        return open(std::move(spec), std::move(plan), Options());
    }

    const segment::StreamInput& input() const { return *input_; }
    /// The first rows of a segment of one split, at most `mostRows`.
    segment::SegmentPart firstRowsOf(std::int64_t segment, std::int64_t mostRows) const;
    Result<segment::SegmentOutput> run(std::int64_t segment,
                                       const segment::SegmentPart& part = {}) {
        return runner_->run(0, segment, part);
    }

 private:
    explicit SplitStream(std::int64_t mostBytes) : budget_(mostBytes) {}

    MemoryBudget budget_;
    std::shared_ptr<const segment::StreamInput> input_;
    std::unique_ptr<segment::BufferPool> pool_;
    segment::StageCounters counters_;
    std::unique_ptr<segment::SegmentRunner> runner_;
};

}  // namespace millrace::loader

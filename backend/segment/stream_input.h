#pragma once
// Everything that computing a segment depends on: spec, plan, compiled recipe, frame layout.
//
// Made once per stream and shared by its threads. Threads: immutable, except for the cached order
// of the newest epochs, which is locked. Failure: open() checks that the dataset still fits the
// plan and the spec.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/dataset/plan/split_pruner.h"
#include "backend/frame/frame.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/segment/layout.h"
#include "backend/segment/segment_output.h"
#include "backend/segment/stream_shape.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/order.h"
#include "backend/stream/plan.h"

namespace millrace::segment {

enum class Shuffle { kRows, kRequests, kNone };

/// The purpose of a stream.
struct InputUse {
    FrameUse frames = FrameUse::kModel;         ///< the consumer of the frames
    recipe::ValueCounters* counters = nullptr;  ///< for embeddings whose values are to be counted
};

class StreamInput {
 public:
    /// `spec` is resolved; it is bound again to the plan's dataset. Part::kEval: the evaluation set
    /// in file order. `budget` holds the side tables and outlives the stream; `shared` are the
    /// tables of all streams with this budget.
    static Result<std::shared_ptr<const StreamInput>> open(
        spec::RunSpec spec, stream::Plan plan, recipe::Part part, MemoryBudget& budget,
        std::shared_ptr<recipe::SharedTables> shared = std::make_shared<recipe::SharedTables>(),
        InputUse use = {});

    const spec::RunSpec& spec() const { return spec_; }
    const stream::Plan& plan() const { return plan_; }
    const std::vector<stream::PlanFile>& files() const {
        return part_ == recipe::Part::kEval ? plan_.filesOfEval() : plan_.files;
    }
    const std::shared_ptr<const dataset::Dataset>& dataset() const { return dataset_; }
    const recipe::CompiledRecipe& recipe() const { return *recipe_; }
    /// Everything that a receiver of its frames must know.
    const StreamShape& shape() const { return shape_; }
    const frame::FrameLayout& layout() const { return shape_.layout; }
    /// The columns at the end of the recipe.
    const expr::Schema& columns() const { return columns_; }
    /// Decides which splits need not be read.
    const dataset::SplitPruner& pruner() const { return pruner_; }
    const std::string& streamHash() const { return shape_.streamHash; }
    const std::string& planHash() const { return shape_.planHash; }
    recipe::Part part() const { return part_; }
    Shuffle shuffle() const { return shuffle_; }
    std::int64_t microRows() const { return spec_.batch.microRows; }
    std::int64_t numSegments() const { return cuts_.count(); }
    /// See SegmentCuts::partitionStart().
    std::int64_t partitionStart(std::int64_t segment) const {
        return cuts_.partitionStart(segment);
    }

    /// The splits of a segment in their order.
    std::vector<stream::SplitRef> splitsOf(std::uint32_t epoch, std::int64_t segment) const;
    /// The part of the segment that may be computed ahead of the rest: at least `least` rows and a
    /// micro-batch. kWhole if that would gain nothing, or if rows are not delivered in the order
    /// they are read in.
    SegmentPart headOf(std::uint32_t epoch, std::int64_t segment, std::int64_t least) const;
    /// Whether a read may need only some rows of a row group.
    bool readsPartsOfRowGroups() const;
    /// Bytes that the plan expects the segment, or its head, to decode to.
    std::int64_t decodedBytes(std::uint32_t epoch, std::int64_t segment,
                              const SegmentPart& part = {}) const;

 private:
    StreamInput() = default;
    Status bind(const recipe::TableSource& tables,
                const std::shared_ptr<dataset::MetadataCache>& cache, MemoryBudget& budget,
                FrameUse use);

    spec::RunSpec spec_;
    stream::Plan plan_;
    recipe::Part part_ = recipe::Part::kTrain;
    Shuffle shuffle_ = Shuffle::kRows;
    stream::SplitOrder order_ = stream::SplitOrder::kPermuted;
    StreamShape shape_;
    stream::SegmentCuts cuts_;
    bool hasRowGroups_ = false;  ///< Parquet: parts of a split can be read separately
    std::shared_ptr<const dataset::Dataset> dataset_;
    std::shared_ptr<const recipe::CompiledRecipe> recipe_;
    expr::Schema columns_;
    dataset::SplitPruner pruner_;

    using Order = std::shared_ptr<const std::vector<stream::SplitRef>>;
    Order orderOf(std::uint32_t epoch) const;
    mutable Mutex mutex_;
    mutable std::map<std::uint32_t, Order> orders_ MR_GUARDED_BY(mutex_);
};

/// For error messages: "segment 12 of epoch 0 (part-3.csv rows 0 to 8191, ...)". Names only the
/// first of many files.
std::string describeSegment(const StreamInput& input, std::uint32_t epoch, std::int64_t segment);

}  // namespace millrace::segment

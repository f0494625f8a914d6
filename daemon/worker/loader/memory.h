#pragma once
// How a loader's memory limit is shared: the program, side tables, rings, segments and frames.
//
// What a run must have is known from its spec, plan and footers before anything is loaded; a limit
// below it is refused with the least that is enough, and from that number on nothing that the
// stream holds runs out of its share. Threads: one owner; budget and pools are for any.
// Owns: budget and pools, which outlive what is taken from them.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/recipe/table_need.h"
#include "backend/segment/buffer_pool.h"
#include "backend/segment/memory_need.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

/// All that a loader holds at once, in bytes.
struct LoaderNeed {
    std::int64_t threads = 0;  ///< of the program and its threads, beside every pool
    recipe::TableNeed tables;
    std::int64_t outputs = 0;  ///< rings, or what a table is sorted in
    std::int64_t joined = 0;   ///< in the place of `outputs`, where rings get a step as one frame
    std::int64_t evalOutputs = 0, evalJoined = 0;  ///< of these what the evaluation's rings take
    std::int64_t frames = 0;                       ///< micro-batches that are not in a ring
    std::int64_t segment = 0;      ///< the largest of training's, or of the only stream
    std::int64_t evalSegment = 0;  ///< of one reader of the evaluation
    int evalReaders = 0;
    std::int64_t splitsOfSegment = 0;  ///< for the sentence
    /// The total if outputs take `output` bytes.
    std::int64_t totalWith(std::int64_t output) const;
    std::int64_t total() const { return totalWith(outputs); }
};

struct LoaderSetUp {
    int threads = 1;
    recipe::Part part = recipe::Part::kTrain;
    int rings = 0;        ///< ranks that read this part
    int evalReaders = 0;  ///< ranks that read the evaluation beside it, through rings
    bool writesTable = false;
    bool wantsJoined = false;  ///< its ranks are expected to want the rows of a step as one frame
};

/// Threads of a loader: as many as are asked for, else the spec's, else one a core; `asked` 0: none
/// are.
int loaderThreads(const spec::RunSpec& spec, std::int64_t asked);

/// Of the feed of a run: all ranks read training and, where there is one, the evaluation.
LoaderSetUp trainingSetUp(const spec::RunSpec& spec);

LoaderNeed loaderNeed(const spec::RunSpec& spec, const stream::Plan& plan,
                      const LoaderSetUp& setUp);

class LoaderMemory {
 public:
    LoaderMemory(std::int64_t limitMb, LoaderNeed need, bool wantsJoined = false);

    /// kResourceExhausted naming the least that is enough, when the limit is below it.
    Status admitted() const;
    /// For side tables and the rings of training, or of the only stream.
    MemoryBudget& budget() { return budget_; }
    /// For the evaluation's rings: training, which comes first, leaves them their share.
    MemoryBudget& evalBudget() { return evalBudget_; }
    /// For rings that are wider than they must be, of both.
    MemoryBudget& spareBudget() { return spareBudget_; }

    /// Shares out what side tables need not have. `preferredOutputs`: the share that rings or a
    /// table's writer get where there is more than all need; at least what joined steps need, where
    /// they are wanted.
    void makePools(std::int64_t preferredOutputs);
    /// After makePools(): whether rings may get a step as one frame.
    Status admittedJoined() const;
    segment::BufferPool& segments() { return *segments_; }
    segment::BufferPool& frames() { return *frames_; }
    std::int64_t outputBytes() const { return outputBytes_; }
    /// What the pool of one reader of the evaluation may hold.
    std::int64_t evalBytes() const { return evalBytes_; }

 private:
    /// The part of a refusal for ranks that may want joined steps; "": there is none.
    std::string joinedText() const;

    const std::int64_t limitBytes_;
    const LoaderNeed need_;
    const bool wantsJoined_;
    MemoryBudget budget_, evalBudget_, spareBudget_;
    std::unique_ptr<segment::BufferPool> segments_, frames_;
    std::vector<MemoryBudget::Reservation> reservations_;  ///< of each budget what is not its own
    std::int64_t outputBytes_ = 0, evalBytes_ = 0;
};

}  // namespace millrace::loader

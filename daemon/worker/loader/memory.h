#pragma once
// LoaderMemory: divides a loader's memory limit: the program, side tables, rings, segments and
// frames. Used by feed, data worker and the roles that read rows.
//
// The required memory is known from spec, plan and footers before anything is loaded. A lower limit
// is refused with the smallest sufficient one; from that limit on, nothing that the stream holds
// runs out of its share. Threads: one owner; budget and pools are for any. Owns: budget and pools,
// which outlive what is taken from them.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/recipe/join/table_need.h"
#include "backend/segment/memory/buffer_pool.h"
#include "backend/segment/memory/memory_need.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

/// All that a loader holds at once, in bytes.
struct LoaderNeed {
    std::int64_t threads = 0;  ///< of the program and its threads, outside of all pools
    recipe::TableNeed tables;
    std::int64_t outputs = 0;  ///< rings, or what a table is sorted in
    std::int64_t joined = 0;   ///< instead of `outputs`, where rings get a step as one frame
    std::int64_t evalOutputs = 0, evalJoined = 0;  ///< of these what the evaluation's rings take
    std::int64_t frames = 0;                       ///< micro-batches that are not in a ring
    std::int64_t segment = 0;      ///< the largest of training's, or of the only stream
    std::int64_t evalSegment = 0;  ///< of one reader of the evaluation
    int evalReaders = 0;
    std::int64_t splitsOfSegment = 0;  ///< for the error message
    /// The total if outputs take `output` bytes.
    std::int64_t totalWith(std::int64_t output) const;
    std::int64_t total() const { return totalWith(outputs); }
};

struct LoaderSetUp {
    int threads = 1;
    recipe::Part part = recipe::Part::kTrain;
    int rings = 0;        ///< ranks that read this part
    int evalReaders = 0;  ///< ranks that also read the evaluation, through rings
    bool writesTable = false;
    bool wantsJoined = false;  ///< its ranks are expected to want the rows of a step as one frame
};

/// Threads of a loader: `asked` if it is not 0, else the spec's, else one per core.
int loaderThreads(const spec::RunSpec& spec, std::int64_t asked);

/// For the feed of a run: all ranks read training and, if there is one, the evaluation.
LoaderSetUp trainingSetUp(const spec::RunSpec& spec);

LoaderNeed loaderNeed(const spec::RunSpec& spec, const stream::Plan& plan,
                      const LoaderSetUp& setUp);

/// Most bytes of a relay's rings, of a limit in MB.
struct RelayRings {
    explicit RelayRings(std::int64_t limitMb);
    std::int64_t all;    ///< the program and the connections need the rest of the limit
    std::int64_t spare;  ///< the part of `all` for rings that are wider than they must be
};

/// Memory of a run with ranks on several nodes, in bytes.
struct NodesMemory {
    std::int64_t limit = 0;  ///< of the feed, and of each data worker
    RelayRings relay{0};
    std::int64_t relayNeed = 0;  ///< of the rings of one node's ranks
    std::int64_t owed = 0;   ///< most frames that data workers keep for one rank on another node
    std::int64_t ranks = 0;  ///< number of such ranks

    static NodesMemory of(const spec::RunSpec& spec, const stream::Plan& plan);
    /// kInvalidArgument with the smallest sufficient limit if a relay's rings need more than they
    /// get.
    Status admitted() const;
};

class LoaderMemory {
 public:
    LoaderMemory(std::int64_t limitMb, LoaderNeed need, bool wantsJoined = false);

    /// kInvalidArgument with the smallest sufficient limit if the limit is below it.
    Status admitted() const;
    /// For side tables and the rings of training, or of the only stream.
    MemoryBudget& budget() { return budget_; }
    /// For the evaluation's rings: training, which comes first, leaves them their share.
    MemoryBudget& evalBudget() { return evalBudget_; }
    /// For rings that are wider than they must be, of both.
    MemoryBudget& spareBudget() { return spareBudget_; }

    /// Distributes the memory that side tables do not need. `preferredOutputs`: the share of rings
    /// or of a table's writer, if more is left than all need; at least what joined steps need, if
    /// they are wanted.
    void makePools(std::int64_t preferredOutputs);
    /// After makePools(): returns whether rings can get a step as one frame.
    Status admittedJoined() const;
    segment::BufferPool& segments() { return *segments_; }
    segment::BufferPool& frames() { return *frames_; }
    std::int64_t outputBytes() const { return outputBytes_; }
    /// Most bytes in the pool of one reader of the evaluation.
    std::int64_t evalBytes() const { return evalBytes_; }

 private:
    /// The part of a refusal for ranks that may want joined steps; "" if it does not apply.
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

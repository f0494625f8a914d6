#include "daemon/worker/loader/memory.h"

#include <algorithm>

#include "backend/recipe/join/join_table.h"
#include "backend/ring/frame_ledger.h"
#include "daemon/worker/loader/process.h"
#include "daemon/worker/loader/resolve.h"

namespace millrace::loader {
namespace {

constexpr std::int64_t kMegabyte = 1'000'000;
/// Code, libraries, small buffers: 44 MB, and what an object store adds.
constexpr std::int64_t kProgramBytes = 58 * kMegabyte;
/// First: stack and page buffers of a computing thread, and freed memory that the allocators keep,
/// on a busy machine, where more threads are at their peak at once. Second: the same for a thread
/// that finds no segment of its own.
constexpr std::int64_t kThreadBytes = 10 * kMegabyte, kHelperBytes = 2 * kMegabyte;
/// Memory that the readers of side tables do not return.
constexpr std::int64_t kTableReaderBytes = 8 * kMegabyte;
/// Memory in which a table is sorted and put into row groups: first, enough for any table. Less if
/// all rows are smaller, because they are held up to three times.
constexpr std::int64_t kSortBytes = 72 * kMegabyte, kLeastSortBytes = 8 * kMegabyte;
constexpr std::int64_t kTableCopies = 3;
/// For a thread that encodes columns of a row group or sorts rows: pages and dictionaries, and
/// freed memory that the allocators keep.
constexpr std::int64_t kEncoderBytes = 18 * kMegabyte;
constexpr std::int64_t kTailFrames = 2;
// The part of its limit that a relay's rings get (1 / share), and of this the part for rings that
// are wider than they must be.
constexpr std::int64_t kRelayShare = 2, kSpareShare = 4;

std::int64_t megabytes(std::int64_t bytes) {
    return (bytes + kMegabyte - 1) / kMegabyte;
}

recipe::TableNeed tablesOf(const spec::RunSpec& spec, const LoaderSetUp& setUp) {
    std::vector<recipe::Part> parts = {setUp.part};
    if (setUp.evalReaders > 0) {
        parts.push_back(recipe::Part::kEval);
    }
    const auto need =
        recipe::tableNeed(spec, recipe::diskTables({spec.baseDir, factsCache()}), parts);
    // Errors of a table are reported when it is opened.
    return need.ok() ? *need : recipe::TableNeed{};
}

/// Adds the plan's counted values: their files and their lookup tables.
void addCounted(const stream::Plan& plan, recipe::TableNeed& tables) {
    constexpr std::int64_t kTextBytes = 25;  // per text value: its offsets, tag and hash
    for (const stream::CountedTable& table : plan.countedTables) {
        tables.held += static_cast<std::int64_t>(table.file->size()) +
                       recipe::JoinTable::bucketBytes(table.rows) + table.bytes +
                       kTextBytes * table.rows;
        tables.peak = std::max(tables.peak, tables.held + 2 * table.bytes);
    }
}

std::int64_t threadsNeed(const segment::MemoryNeed& need, int threads) {
    return need.busyThreads * kThreadBytes + (threads - need.busyThreads) * kHelperBytes +
           need.computing;
}

/// The bytes that rings need if their ranks get `share` micro-batches of `frame` bytes as one
/// frame: that frame in the ring, and the micro-batches until it is made, of the current step and
/// of the previous one.
std::int64_t joinedNeed(std::int64_t frame, std::int64_t share) {
    constexpr std::int64_t kSteps = 2;
    return segment::ringNeed(share * frame) + (share > 1 ? kSteps * share * frame : 0);
}

}  // namespace

std::int64_t LoaderNeed::totalWith(std::int64_t output) const {
    const std::int64_t streaming =
        tables.held + output + frames + segment + evalReaders * evalSegment;
    return threads + std::max(tables.peak, streaming);
}

int loaderThreads(const spec::RunSpec& spec, std::int64_t asked) {
    const std::int64_t threads = asked > 0 ? asked : spec.resources.loaderThreads;
    return static_cast<int>(threads > 0 ? threads : usableCores());
}

LoaderSetUp trainingSetUp(const spec::RunSpec& spec) {
    LoaderSetUp setUp;
    setUp.threads = loaderThreads(spec, 0);
    setUp.rings = static_cast<int>(spec.train.ranks);
    setUp.evalReaders = spec.eval ? setUp.rings : 0;
    setUp.wantsJoined = !spec.command.empty();
    return setUp;
}

LoaderNeed loaderNeed(const spec::RunSpec& spec, const stream::Plan& plan,
                      const LoaderSetUp& setUp) {
    const segment::MemoryNeed one = segment::memoryNeed(spec, plan, setUp.part, setUp.threads);
    LoaderNeed need;
    need.tables = tablesOf(spec, setUp);
    addCounted(plan, need.tables);
    need.segment = one.segment + one.making;
    need.splitsOfSegment = plan.segmentSplits;
    std::int64_t frames = kTailFrames;
    const std::int64_t share = std::max<std::int64_t>(
        1, spec.microBatchesPerStep() / std::max<std::int64_t>(1, spec.train.ranks));
    need.outputs = setUp.rings * segment::ringNeed(one.frame);
    need.joined = setUp.rings * joinedNeed(one.frame, share);
    if (setUp.writesTable) {
        need.outputs = std::min(kSortBytes, kLeastSortBytes + kTableCopies * one.delivered);
        frames += 2 * (setUp.threads + 2);  // each once as a frame, once as a batch of the table
    } else if (setUp.rings == 0) {
        frames += setUp.threads + 1;
    }
    need.frames = frames * one.frame;
    need.threads = kProgramBytes + threadsNeed(one, setUp.threads) +
                   (need.tables.peak > 0 ? kTableReaderBytes : 0);
    if (setUp.writesTable) {
        need.threads += std::min(setUp.threads * kEncoderBytes, kTableCopies * one.delivered);
    }
    if (setUp.evalReaders > 0) {
        const segment::MemoryNeed eval =
            segment::memoryNeed(spec, plan, recipe::Part::kEval, setUp.threads);
        need.evalReaders = setUp.evalReaders;
        need.evalSegment = eval.segment + eval.making + kTailFrames * eval.frame;
        need.evalOutputs = setUp.evalReaders * segment::ringNeed(eval.frame);
        need.evalJoined = setUp.evalReaders * joinedNeed(eval.frame, share);
        need.outputs += need.evalOutputs;
        need.joined += need.evalJoined;
        need.threads += setUp.evalReaders * threadsNeed(eval, setUp.threads);
    }
    return need;
}

RelayRings::RelayRings(std::int64_t limitMb)
    : all(limitMb * kMegabyte / kRelayShare), spare(all / kSpareShare) {}

NodesMemory NodesMemory::of(const spec::RunSpec& spec, const stream::Plan& plan) {
    const LoaderSetUp setUp = trainingSetUp(spec);
    const std::int64_t frame = segment::memoryNeed(spec, plan, setUp.part, setUp.threads).frame;
    NodesMemory memory;
    memory.limit = spec.resources.memoryLimitMb * kMegabyte;
    memory.relay = RelayRings(spec.resources.memoryLimitMb);
    memory.relayNeed = loaderNeed(spec, plan, setUp).outputs / spec.train.nodes;
    memory.owed = std::max(static_cast<std::int64_t>(ring::FrameLedger::kCreditBytes),
                           frame * (spec.microBatchesPerStep() / spec.train.ranks));
    memory.ranks = spec.train.ranks - spec.train.ranks / spec.train.nodes;
    return memory;
}

Status NodesMemory::admitted() const {
    if (relayNeed <= relay.all - relay.spare) {
        return okStatus();
    }
    constexpr std::int64_t kParts = kRelayShare * kSpareShare;
    const std::int64_t enough =
        megabytes((relayNeed * kParts + kSpareShare - 2) / (kSpareShare - 1));
    return invalidArgument("resources.memory_limit_mb: ", limit / kMegabyte,
                           " MB are too little for relays; ", enough,
                           " are enough: the rings of a node's ranks take ", megabytes(relayNeed),
                           " MB, and ", kSpareShare - 1, "/", kParts, " of the limit are for them");
}

LoaderMemory::LoaderMemory(std::int64_t limitMb, LoaderNeed need, bool wantsJoined)
    : limitBytes_(limitMb * kMegabyte),
      need_(need),
      wantsJoined_(wantsJoined),
      // Rings are there also to say that the limit is too little.
      budget_(std::max(limitBytes_ - need.threads, need.outputs)),
      evalBudget_(budget_.limitBytes()),
      spareBudget_(budget_.limitBytes()) {}

Status LoaderMemory::admitted() const {
    if (need_.total() <= limitBytes_) {
        return okStatus();
    }
    const std::int64_t segments = need_.segment + need_.evalReaders * need_.evalSegment;
    // An input error, because it is the spec's own limit: the same spec is refused again.
    return invalidArgument(
        "resources.memory_limit_mb: ", limitBytes_ / kMegabyte, " MB are too little; ",
        megabytes(need_.total()), " are enough", joinedText(), ": ", megabytes(need_.threads),
        " for the program and its threads, ",
        megabytes(std::max(need_.tables.held, need_.total() == need_.threads + need_.tables.peak
                                                  ? need_.tables.peak
                                                  : need_.tables.held)),
        " for side tables, ", megabytes(need_.outputs + need_.frames), " for frames, ",
        megabytes(segments), " for a segment of ", need_.splitsOfSegment,
        need_.splitsOfSegment == 1 ? " split" : " splits (batch.segment_splits)");
}

std::string LoaderMemory::joinedText() const {
    const std::int64_t joined = megabytes(need_.totalWith(need_.joined));
    return wantsJoined_ && joined > megabytes(need_.total())
               ? strCat(", ", joined, " where Python takes the rows of a step as one batch")
               : "";
}

Status LoaderMemory::admittedJoined() const {
    if (outputBytes_ >= need_.joined) {
        return okStatus();
    }
    return invalidArgument("resources.memory_limit_mb: ", limitBytes_ / kMegabyte,
                           " MB are too little to join the micro-batches of a step: that takes ",
                           megabytes(need_.joined), " MB, and ", megabytes(outputBytes_),
                           " are left for it; ", megabytes(need_.totalWith(need_.joined)),
                           " or more are enough, and so are steps of fewer rows (batch.rows)");
}

void LoaderMemory::makePools(std::int64_t preferredOutputs) {
    const std::int64_t left = std::max<std::int64_t>(budget_.limitBytes() - need_.tables.held, 0);
    const std::int64_t evals = need_.evalReaders * need_.evalSegment;
    const std::int64_t spare =
        std::max<std::int64_t>(left - need_.outputs - need_.frames - need_.segment - evals, 0);
    const std::int64_t preferred =
        wantsJoined_ ? std::max(preferredOutputs, need_.joined) : preferredOutputs;
    const std::int64_t moreOutputs = std::clamp<std::int64_t>(preferred - need_.outputs, 0, spare);
    outputBytes_ = need_.outputs + moreOutputs;
    std::int64_t more = spare - moreOutputs;
    if (need_.evalReaders > 0) {
        evalBytes_ = need_.evalSegment + more / 3 / need_.evalReaders;
        more -= more / 3;
    }
    segments_ = std::make_unique<segment::BufferPool>(need_.segment + more);
    frames_ = std::make_unique<segment::BufferPool>(std::max<std::int64_t>(need_.frames, 1));
    // Rings take at most their share, whichever of them come first.
    const bool isJoined = outputBytes_ >= need_.joined, hasRings = need_.joined > 0;
    const std::int64_t eval = isJoined ? need_.evalJoined : need_.evalOutputs;
    const std::int64_t spareShare =
        hasRings ? outputBytes_ - (isJoined ? need_.joined : need_.outputs) : 0;
    const std::int64_t all = budget_.limitBytes();
    // Without an evaluation a reader of one is told so, rather than that memory is missing.
    const std::int64_t beside = need_.evalReaders > 0 ? all - eval : 0;
    for (const auto& [budget, others] :
         {std::pair(&budget_, left - (outputBytes_ - eval - spareShare)),
          std::pair(&evalBudget_, beside), std::pair(&spareBudget_, all - spareShare)}) {
        if (auto taken = budget->reserve(others, "segments and frames"); taken.ok()) {
            reservations_.push_back(std::move(*taken));
        }
    }
}

}  // namespace millrace::loader

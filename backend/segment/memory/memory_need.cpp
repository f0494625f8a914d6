#include "backend/segment/memory/memory_need.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "backend/objects/object_store.h"

namespace millrace::segment {
namespace {

// A block of the pool is at most 1/kBlocks larger than the request.
constexpr std::int64_t kBlocks = 4;
constexpr std::int64_t kValueBytes = 8;
constexpr std::int64_t kRowIdBytes = 12;
constexpr std::int64_t kHeadBytes = 9;        ///< label, weight, mask
constexpr std::int64_t kBetweenBytes = 64;    ///< a row's values between operations
constexpr std::int64_t kOffsetBytes = 4;      ///< of a decoded list; a frame's are twice as wide
constexpr std::int64_t kListSliceBytes = 8;   ///< the slice of a row's list, in its record
constexpr std::int64_t kFieldBytes = 8;       ///< of text: where the field begins and ends
constexpr std::int64_t kOrderBytes = 48;      ///< a row's key and picks while rows are sorted
constexpr std::int64_t kPageBytes = 8 << 20;  ///< pages, chunks of files, small buffers
/// Memory that allocators keep after a thread whose expressions make columns freed it: at most
/// kMakingBytes, and at most kMakingPlanned times the split's planned bytes.
constexpr std::int64_t kMakingBytes = 10 << 20;
constexpr std::int64_t kMakingPlanned = 16;
constexpr std::int64_t kConnectionsBytes =
    8 << 20;  ///< receive buffers of the read-ahead's connections

std::int64_t rounded(std::int64_t bytes) {
    return bytes + bytes / kBlocks;
}

std::int64_t count(std::size_t size) {
    return static_cast<std::int64_t>(size);
}

// Number of columns that expressions make.
std::int64_t madeColumns(const spec::RunSpec& spec) {
    std::int64_t columns = 2;
    for (const spec::Step& step : spec.recipe) {
        const std::vector<spec::MadeColumn> made = step.makes();
        columns += 1 + std::ranges::count_if(
                           made, [](const spec::MadeColumn& one) { return !one.expr.empty(); });
    }
    return columns + count(spec.labels.size());
}

// The memory cost per row, grouped by how long it is held.
struct RowCost {
    std::int64_t columns = 0;      ///< bytes of a row's features and labels
    std::int64_t kept = 0;         ///< bytes of a row of a segment until it is delivered
    std::int64_t lists = 0;        ///< list columns, and those that are carried
    std::int64_t keptPlanned = 0;  ///< copies of a planned byte that are held until delivery
    std::int64_t read = 0;         ///< bytes of a row's values while its split is computed
    std::int64_t readPlanned = 0;  ///< copies of a planned byte that are held meanwhile
    /// One extra byte per this many planned bytes: page headers. Texts in CSV files may be longer
    /// than their column's mean and then need the pool's next larger block size.
    std::int64_t readMore = 8;
    std::int64_t record = 0;  ///< bytes of a row's record, if it gets one
    std::int64_t made = 0;    ///< bytes of the columns that expressions make
    std::int64_t order = 0;   ///< outside the pool, of a row while rows are sorted
    bool hasText = false;     ///< expressions may make texts
    bool keepsText = false;   ///< readers keep the bytes of a split
    std::int64_t fields = 0;  ///< bytes of field positions that they keep as well
};

RowCost costOf(const spec::RunSpec& spec, const stream::Plan& plan, recipe::Part part) {
    const spec::FeaturesSpec& f = spec.features;
    RowCost cost;
    std::int64_t made = count(f.lists.size() + 2 * f.weighted.size());
    for (const auto& [name, sequence] : f.sequences) {
        made += count(sequence.columns.size());
    }
    cost.lists = made + count(f.carry.size() + f.vectors.size());
    cost.made = kValueBytes * madeColumns(spec);
    cost.columns = kRowIdBytes + 4 * count(f.dense.size()) + kValueBytes * count(f.ids.size()) +
                   kHeadBytes * count(spec.labels.size());
    // Picked rows are stored as records, which replace all their columns but lists.
    const bool hasRecords = part != recipe::Part::kEval && spec.batch.shuffle != "none";
    cost.order = hasRecords ? kOrderBytes : 0;
    cost.record = hasRecords ? cost.columns + kListSliceBytes * cost.lists : 0;
    cost.kept =
        cost.columns + kOffsetBytes * cost.lists + (hasRecords ? kListSliceBytes * cost.lists : 0);
    // Ids are 64 bits wide, whatever they are made from.
    cost.keptPlanned = made > 0 ? 2 : cost.lists > 0 ? 1 : 0;
    cost.readPlanned = cost.keptPlanned > 0 ? 0 : 1;
    if (spec.dataset.format == "csv") {
        cost.read = kValueBytes * count(plan.schema.fields.size());
        ++cost.readPlanned;
        cost.readMore = 2;
        cost.keepsText = true;
        cost.fields = kFieldBytes * count(plan.schema.fields.size());
    }
    cost.hasText = std::ranges::any_of(spec.recipe, [](const spec::Step& step) {
        const auto* derive = step.as<spec::DeriveStep>();
        return step.enabled && derive != nullptr && !derive->columns.empty();
    });
    return cost;
}

struct Split {
    std::int64_t held, rows, planned;
    bool operator>(const Split& other) const { return held > other.held; }
};

// Bytes of the pool: columns that expressions make of a split, and intermediate values.
std::int64_t making(const RowCost& cost, const Split& split) {
    return (cost.made + std::min(cost.made, kBetweenBytes)) * split.rows +
           (cost.hasText ? 2 * split.planned : 0);
}

// Bytes outside the pool, of a thread with a segment of `rows` rows.
std::int64_t computing(const RowCost& cost, const Split& split, std::int64_t rows) {
    return cost.order * rows +
           (cost.hasText ? std::min(kMakingBytes, kMakingPlanned * split.planned) : 0);
}

// Bytes of the pool: what is read of a split, and its columns until they become records.
std::int64_t reading(const RowCost& cost, const Split& split) {
    return cost.readPlanned * split.planned + split.planned / cost.readMore +
           (cost.columns + cost.read + cost.fields + kOffsetBytes * cost.lists) * split.rows;
}

}  // namespace

MemoryNeed memoryNeed(const spec::RunSpec& spec, const stream::Plan& plan, recipe::Part part,
                      int threads) {
    const RowCost cost = costOf(spec, plan, part);
    const auto& files = part == recipe::Part::kEval ? plan.filesOfEval() : plan.files;
    std::vector<Split> splits;
    bool hasObjects = false;
    MemoryNeed need;
    std::int64_t rowBytes = 0;
    for (const stream::PlanFile& file : files) {
        hasObjects |= objects::isObjectUri(file.path);
        for (const stream::PlanSplit& s : file.splits) {
            splits.push_back(
                {cost.keptPlanned * s.decodedBytes + cost.kept * s.rows, s.rows, s.decodedBytes});
            rowBytes = std::max(rowBytes, splits.back().held / std::max<std::int64_t>(s.rows, 1));
            need.delivered += splits.back().held;
        }
    }
    std::int64_t rows = 0;
    std::ranges::sort(splits, std::greater<>());
    const std::int64_t inSegment = std::max<std::int64_t>(1, plan.segmentSplits);
    for (std::size_t s = 0; s < splits.size() && count(s) < inSegment; ++s) {
        need.segment += splits[s].held;
        rows += splits[s].rows;
    }
    // One thread owns a segment. Other threads read columns for it, or compute segments of their
    // own if these fit.
    const std::int64_t segments = (count(splits.size()) + inSegment - 1) / inSegment;
    need.busyThreads = std::clamp<std::int64_t>(segments, 1, threads);
    if (!splits.empty()) {
        // Threads make records of several splits at once, before the columns are released.
        const std::int64_t others = std::min<std::int64_t>(threads, inSegment) - 1;
        need.segment += reading(cost, splits.front()) + others * cost.record * splits.front().rows;
        // Each thread keeps the text that it read last, and the positions of its fields.
        need.segment +=
            cost.keepsText
                ? (threads - 1) * (splits.front().planned + cost.fields * splits.front().rows)
                : 0;
        need.making = need.busyThreads * making(cost, splits.front());
        need.computing = need.busyThreads * computing(cost, splits.front(), rows);
    }
    need.segment = rounded(need.segment) + kPageBytes;
    // A quarter more than the average, for rows with longer lists.
    need.frame = rounded(rounded((rowBytes + kOffsetBytes * cost.lists) * spec.batch.microRows)) +
                 (std::int64_t{1} << 16);
    if (hasObjects) {
        need.segment += need.segment / (kReadAheadShare - 1);
        need.computing += kConnectionsBytes * need.busyThreads;
    }
    return need;
}

std::int64_t ringNeed(std::int64_t frameBytes) {
    std::int64_t size = std::int64_t{8} << 20;
    const std::int64_t first = size;
    while (size / 2 < frameBytes) {
        size *= 2;
    }
    return size + (size > first ? size / 2 : 0) + (std::int64_t{1} << 20);
}

}  // namespace millrace::segment

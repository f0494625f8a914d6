#include "backend/segment/memory_need.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "backend/objects/object_store.h"

namespace millrace::segment {
namespace {

// A block of the pool is at most a quarter larger than what was asked for.
constexpr std::int64_t kBlocks = 4;
constexpr std::int64_t kValueBytes = 8;
constexpr std::int64_t kRowIdBytes = 12;
constexpr std::int64_t kHeadBytes = 9;        ///< label, weight, mask
constexpr std::int64_t kOffsetBytes = 4;      ///< of a decoded list; a frame's are twice as wide
constexpr std::int64_t kListPlaceBytes = 8;   ///< where a row's list stands, in its record
constexpr std::int64_t kOrderBytes = 24;      ///< a row's key and places while rows are ordered
constexpr std::int64_t kPageBytes = 8 << 20;  ///< pages, chunks of files, small buffers
constexpr std::int64_t kReadAheadShare = 6;
constexpr std::int64_t kConnectionsBytes =
    8 << 20;  ///< what the read-ahead's connections receive into

std::int64_t rounded(std::int64_t bytes) {
    return bytes + bytes / kBlocks;
}

std::int64_t count(std::size_t size) {
    return static_cast<std::int64_t>(size);
}

// Columns that expressions make, of one row.
std::int64_t madeColumns(const spec::RunSpec& spec) {
    std::int64_t columns = 2;
    for (const spec::Step& step : spec.recipe) {
        columns += 1 + count(step.columns.size()) + count(step.take.size());
    }
    return columns + count(spec.labels.size());
}

struct RowCost {
    std::int64_t fixed = 0;    ///< bytes of a row whatever its lists hold
    std::int64_t lists = 0;    ///< list columns, and those that are carried
    std::int64_t planned = 1;  ///< how often a planned byte is held
    std::int64_t made = 0;     ///< bytes of the columns that expressions make
};

RowCost costOf(const spec::RunSpec& spec, const stream::Plan& plan) {
    const spec::FeaturesSpec& f = spec.features;
    RowCost cost;
    std::int64_t made = count(f.lists.size() + 2 * f.weighted.size());
    for (const auto& [name, sequence] : f.sequences) {
        made += count(sequence.columns.size());
    }
    cost.lists = made + count(f.carry.size() + f.vectors.size());
    cost.made = kValueBytes * madeColumns(spec);
    cost.fixed = kRowIdBytes + 4 * count(f.dense.size()) + kValueBytes * count(f.ids.size()) +
                 kHeadBytes * count(spec.labels.size()) + kOffsetBytes * cost.lists + cost.made;
    if (spec.batch.shuffle != "none") {
        // Rows that are picked stand in records beside their columns.
        cost.fixed += cost.fixed - cost.made + kListPlaceBytes * cost.lists;
    }
    // Ids are 64 bits wide, whatever they are made from.
    cost.planned = made > 0 ? 2 : 1;
    if (spec.dataset.format == "csv") {
        cost.fixed += kValueBytes * count(plan.schema.fields.size());
        ++cost.planned;
    }
    return cost;
}

}  // namespace

MemoryNeed memoryNeed(const spec::RunSpec& spec, const stream::Plan& plan, recipe::Part part) {
    const RowCost cost = costOf(spec, plan);
    const auto& files = part == recipe::Part::kEval ? plan.filesOfEval() : plan.files;
    struct Split {
        std::int64_t held, rows, planned;
        bool operator>(const Split& other) const { return held > other.held; }
    };
    std::vector<Split> splits;
    const bool hasText = std::any_of(spec.recipe.begin(), spec.recipe.end(), [](const auto& step) {
        return step.enabled && !step.columns.empty();
    });
    bool hasObjects = false;
    std::int64_t rowBytes = 0;
    for (const stream::PlanFile& file : files) {
        hasObjects |= objects::isObjectUri(file.path);
        for (const stream::PlanSplit& s : file.splits) {
            splits.push_back(
                {cost.planned * s.decodedBytes + cost.fixed * s.rows, s.rows, s.decodedBytes});
            rowBytes = std::max(rowBytes, splits.back().held / std::max<std::int64_t>(s.rows, 1));
        }
    }
    MemoryNeed need;
    std::int64_t rows = 0, working = 0, mostRows = 0, mostPlanned = 0;
    std::sort(splits.begin(), splits.end(), std::greater<>());
    for (std::size_t s = 0; s < splits.size() && count(s) < plan.segmentSplits; ++s) {
        need.segment += splits[s].held;
        rows += splits[s].rows;
        working = std::max(working, splits[s].planned / 8 + cost.fixed * splits[s].rows);
        mostRows = std::max(mostRows, splits[s].rows);
        mostPlanned = std::max(mostPlanned, hasText ? splits[s].planned : 0);
    }
    need.segment = rounded(need.segment + working) + kPageBytes;
    // A quarter more than the average, for rows with longer lists.
    need.frame = rounded(rounded((rowBytes + kOffsetBytes * cost.lists) * spec.batch.microRows)) +
                 (std::int64_t{1} << 16);
    // What expressions make of a split, and as much again between them, is not of the pool.
    need.thread = kOrderBytes * rows + 2 * cost.made * mostRows + 2 * mostPlanned;
    if (hasObjects) {
        need.segment += need.segment / (kReadAheadShare - 1);
        need.thread += kConnectionsBytes;
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

#include "daemon/worker/loader/labels.h"

#include <algorithm>
#include <limits>

#include "backend/core/memory_budget.h"
#include "backend/core/text.h"
#include "backend/segment/segment_runner.h"
#include "backend/segment/stream_input.h"
#include "daemon/worker/loader/bare_spec.h"

namespace millrace::loader {
namespace {

// Counts the labels of rows, by head.
class LabelTally {
 public:
    explicit LabelTally(const std::vector<std::string>& heads) {
        constexpr float kFar = std::numeric_limits<float>::infinity();
        for (const std::string& head : heads) {
            ranges_.push_back({head, kFar, -kFar});
        }
    }
    void add(std::size_t head, float label) {
        Range& range = ranges_[head];
        range.least = std::min(range.least, label);
        range.most = std::max(range.most, label);
    }
    /// Every head has had two different values.
    bool isFine() const {
        return std::all_of(ranges_.begin(), ranges_.end(),
                           [](const Range& range) { return range.least < range.most; });
    }
    /// Heads with fewer values. `isCertain`: there are no other rows.
    std::vector<LabelFinding> findings(recipe::Part part, bool isCertain) const;

 private:
    struct Range {
        std::string head;
        float least, most;
    };
    std::vector<Range> ranges_;
};

// Returns the spec without the parts that labels do not need.
spec::RunSpec labelsOnly(spec::RunSpec spec, recipe::Part part) {
    if (part == recipe::Part::kEval) {
        spec.recipe = spec.eval->labelRecipe;
        spec.labels = spec.eval->labels;
        spec.eval->recipe.clear();
    }
    spec.embeddings.clear();
    spec.batch.order = "as_is";
    return bareSpec(std::move(spec), {});
}

void look(const segment::SegmentOutput& output, const frame::FrameLayout& layout,
          const std::vector<std::string>& heads, LabelTally& tally) {
    for (std::size_t h = 0; h < heads.size(); ++h) {
        const auto label = static_cast<std::size_t>(layout.find(frame::Role::kLabel, heads[h]));
        const auto mask = static_cast<std::size_t>(layout.find(frame::Role::kMask, heads[h]));
        for (const segment::Chunk& chunk : output.chunks) {
            const auto* values = reinterpret_cast<const float*>(chunk.columns[label].values);
            const auto* masks = reinterpret_cast<const std::uint8_t*>(chunk.columns[mask].values);
            for (std::int64_t r = 0; r < chunk.rows; ++r) {
                if (masks[r] != 0) {
                    tally.add(h, values[r]);
                }
            }
        }
    }
}

}  // namespace

std::vector<LabelFinding> LabelTally::findings(recipe::Part part, bool isCertain) const {
    const bool isEval = part == recipe::Part::kEval;
    const std::string rows =
        strCat("every ", isEval ? "evaluation" : "training", isCertain ? " row" : " row looked at");
    std::vector<LabelFinding> found;
    for (const Range& range : ranges_) {
        if (range.least < range.most) {
            continue;
        }
        const bool isNone = range.least > range.most;
        const char* const so = isEval ? (isNone ? " or no row is left: there is nothing to evaluate"
                                                : ": an evaluation needs both classes")
                                      : (isNone ? " or no row is left: there is nothing to learn"
                                                : ": a label needs both classes");
        found.push_back(
            {range.head,
             isNone ? strCat("label '", range.head, "' is null in ", rows, isCertain ? so : "")
                    : strCat("label '", range.head, "' is ", range.least, " in ", rows, so),
             isCertain});
    }
    return found;
}

Result<std::vector<LabelFinding>> checkLabels(const spec::RunSpec& spec, const stream::Plan& plan,
                                              recipe::Part part, std::int64_t mostBytes) {
    MemoryBudget budget(std::int64_t{4} << 30);
    stream::Plan single = plan;
    single.segmentSplits = 1;
    const spec::RunSpec looked = labelsOnly(spec, part);
    ASSIGN_OR_RETURN(const auto input,
                     segment::StreamInput::open(looked, std::move(single), part, budget));
    const std::vector<std::string> heads = looked.heads();
    LabelTally tally(heads);
    segment::BufferPool pool(spec.resources.memoryLimitMb * 1'000'000);
    segment::StageCounters counters;
    segment::SegmentRunner runner(input, pool, counters);
    std::int64_t bytes = 0, segment = 0;
    while (segment < input->numSegments() && bytes < mostBytes && !tally.isFine()) {
        bytes += input->decodedBytes(0, segment);
        ASSIGN_OR_RETURN(const segment::SegmentOutput output, runner.run(0, segment++));
        look(output, input->layout(), heads, tally);
    }
    return tally.findings(part, segment == input->numSegments());
}

}  // namespace millrace::loader

#include "daemon/worker/loader/labels.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "backend/core/memory_budget.h"
#include "backend/core/text.h"
#include "backend/segment/segment_runner.h"
#include "backend/segment/stream_input.h"

namespace millrace::loader {
namespace {

constexpr std::int64_t kMostBytes = 200'000'000;

struct Range {
    float least = std::numeric_limits<float>::infinity();
    float most = -std::numeric_limits<float>::infinity();
    bool isFine() const { return least < most; }
};

// The spec without what labels do not need.
spec::RunSpec labelsOnly(spec::RunSpec spec) {
    spec.features = {};
    spec.embeddings.clear();
    spec.batch.shuffle = "none";
    spec.batch.order = "as_is";
    spec.model = {};
    spec.model.type = "mlp";
    spec.source = nullptr;
    return spec;
}

void look(const segment::SegmentOutput& output, const frame::FrameLayout& layout,
          std::map<std::string, Range>& ranges) {
    for (auto& [head, range] : ranges) {
        const auto label = static_cast<std::size_t>(layout.find(frame::Role::kLabel, head));
        const auto mask = static_cast<std::size_t>(layout.find(frame::Role::kMask, head));
        for (const segment::Chunk& chunk : output.chunks) {
            const auto* values = reinterpret_cast<const float*>(chunk.columns[label].values);
            const auto* masks = reinterpret_cast<const std::uint8_t*>(chunk.columns[mask].values);
            for (std::int64_t r = 0; r < chunk.rows; ++r) {
                if (masks[r] != 0) {
                    range.least = std::min(range.least, values[r]);
                    range.most = std::max(range.most, values[r]);
                }
            }
        }
    }
}

LabelFinding findingOf(const std::string& head, const Range& range, bool isCertain) {
    const std::string rows = isCertain ? "every training row" : "every training row looked at";
    std::string message =
        range.least > range.most
            ? strCat("label '", head, "' is null in ", rows,
                     isCertain ? " or no row is left: there is nothing to learn" : "")
            : strCat("label '", head, "' is ", range.least, " in ", rows,
                     ": a label needs both classes");
    return {head, std::move(message), isCertain};
}

}  // namespace

Result<std::vector<LabelFinding>> checkLabels(const spec::RunSpec& spec, const stream::Plan& plan) {
    MemoryBudget budget(std::int64_t{4} << 30);
    stream::Plan single = plan;
    single.segmentSplits = 1;
    ASSIGN_OR_RETURN(const auto input,
                     segment::StreamInput::open(labelsOnly(spec), std::move(single),
                                                recipe::Part::kTrain, budget));
    std::map<std::string, Range> ranges;
    for (const std::string& head : spec.heads()) {
        ranges.emplace(head, Range{});
    }
    segment::BufferPool pool(0);
    segment::StageCounters counters;
    segment::SegmentRunner runner(input, pool, counters);
    std::int64_t bytes = 0, segment = 0;
    const auto isFine = [](const auto& entry) { return entry.second.isFine(); };
    while (segment < input->numSegments() && bytes < kMostBytes &&
           !std::all_of(ranges.begin(), ranges.end(), isFine)) {
        bytes += input->decodedBytes(0, segment);
        ASSIGN_OR_RETURN(const segment::SegmentOutput output, runner.run(0, segment++));
        look(output, input->layout(), ranges);
    }
    std::vector<LabelFinding> findings;
    for (const auto& [head, range] : ranges) {
        if (!range.isFine()) {
            findings.push_back(findingOf(head, range, segment == input->numSegments()));
        }
    }
    return findings;
}

}  // namespace millrace::loader

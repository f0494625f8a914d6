#include "daemon/worker/loader/questions/leaks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "backend/core/memory_budget.h"
#include "backend/segment/segment_runner.h"
#include "backend/segment/stream_input.h"

namespace millrace::loader {
namespace {

constexpr double kTellsAll = 0.98;
constexpr std::size_t kEnoughRows = 50'000, kFewestRows = 200;

struct Sample {
    std::vector<std::vector<float>> dense;  ///< by feature
    std::vector<bool> labels;
};

// The spec without what dense features and labels do not need, one split a segment.
spec::RunSpec denseOnly(spec::RunSpec spec) {
    spec::FeaturesSpec dense;
    dense.dense = spec.features.dense;
    spec.features = std::move(dense);
    spec.embeddings.clear();
    spec.batch.shuffle = "none";
    spec.batch.order = "as_is";
    spec.model = {};
    spec.model.type = "mlp";
    spec.eval.reset();
    spec.source = nullptr;
    return spec;
}

void take(const segment::Chunk& chunk, std::size_t label, std::size_t mask, Sample& sample) {
    const auto* labels = reinterpret_cast<const float*>(chunk.columns[label].values);
    const auto* masks = reinterpret_cast<const std::uint8_t*>(chunk.columns[mask].values);
    for (std::int64_t r = 0; r < chunk.rows; ++r) {
        if (masks[r] == 0) {
            continue;
        }
        sample.labels.push_back(labels[r] > 0.5F);
        for (std::size_t d = 0; d < sample.dense.size(); ++d) {
            sample.dense[d].push_back(chunk.dense[d][r]);
        }
    }
}

/// P(value of a positive > that of a negative) + P(equal) / 2, of the rows whose value is a number;
/// 0.5 where a class is missing.
double aucOf(const std::vector<float>& values, const std::vector<bool>& labels) {
    std::vector<std::pair<float, bool>> rows;
    for (std::size_t r = 0; r < values.size(); ++r) {
        if (!std::isnan(values[r])) {  // has no place in an order
            rows.emplace_back(values[r], labels[r]);
        }
    }
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    double below = 0, positives = 0, wins = 0;
    for (std::size_t i = 0; i < rows.size();) {
        double tiedNegatives = 0, tiedPositives = 0;
        const float value = rows[i].first;
        for (; i < rows.size() && rows[i].first == value; ++i) {
            (rows[i].second ? tiedPositives : tiedNegatives) += 1;
        }
        wins += tiedPositives * (below + tiedNegatives / 2);
        below += tiedNegatives;
        positives += tiedPositives;
    }
    return positives * below > 0 ? wins / (positives * below) : 0.5;
}

}  // namespace

Result<std::vector<std::string>> findLeaks(const spec::RunSpec& spec, const stream::Plan& plan) {
    std::vector<std::string> notes;
    if (spec.features.dense.empty() || spec.labels.empty()) {
        return notes;
    }
    MemoryBudget budget(std::int64_t{4} << 30);
    stream::Plan single = plan;
    single.segmentSplits = 1;
    const spec::RunSpec dense = denseOnly(spec);
    ASSIGN_OR_RETURN(const auto input, segment::StreamInput::open(dense, std::move(single),
                                                                  recipe::Part::kTrain, budget));
    const std::string head = dense.heads().front();
    const auto label = static_cast<std::size_t>(input->layout().find(frame::Role::kLabel, head));
    const auto mask = static_cast<std::size_t>(input->layout().find(frame::Role::kMask, head));
    segment::BufferPool pool(0);
    segment::StageCounters counters;
    segment::SegmentRunner runner(input, pool, counters);
    Sample sample;
    sample.dense.resize(dense.features.dense.size());
    for (std::int64_t s = 0; s < input->numSegments() && sample.labels.size() < kEnoughRows; ++s) {
        ASSIGN_OR_RETURN(const segment::SegmentOutput output, runner.run(0, s));
        for (const segment::Chunk& chunk : output.chunks) {
            take(chunk, label, mask, sample);
        }
    }
    for (std::size_t d = 0; d < sample.dense.size() && sample.labels.size() >= kFewestRows; ++d) {
        const double auc = aucOf(sample.dense[d], sample.labels);
        if (auc > kTellsAll || auc < 1 - kTellsAll) {
            char text[16];
            std::snprintf(text, sizeof text, "%.3f", std::max(auc, 1 - auc));
            notes.push_back(strCat("features.dense: ", dense.features.dense[d].column,
                                   " alone tells the label '", head, "' (AUC ", text,
                                   "): leave it out if it is known only after the label"));
        }
    }
    return notes;
}

}  // namespace millrace::loader

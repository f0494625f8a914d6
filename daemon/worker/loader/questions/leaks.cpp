#include "daemon/worker/loader/questions/leaks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "backend/text/text.h"
#include "daemon/worker/loader/bare_spec.h"

namespace millrace::loader {
namespace {

constexpr double kTellsAll = 0.98;
constexpr std::size_t kFewestRows = 200;
// Rows read from a split between two looks at the clock.
constexpr std::int64_t kPieceRows = 50'000;
// An id of fewer values is a property, such as a grade, rather than somebody or something.
constexpr std::size_t kManyValues = 50;
// Weight of the overall mean label, in rows: an id that occurs less often only describes its own
// rows.
constexpr double kPriorRows = 1;

struct Sample {
    std::vector<std::vector<float>> dense;       ///< by feature
    std::vector<std::vector<std::int64_t>> ids;  ///< by feature
    std::vector<bool> labels;
    std::int64_t rowsRead = 0;
    bool isCut = false;  ///< by a limit on reading, with fewer labels than wanted
};

// Returns the spec without the parts that its plain features and labels do not need, one split per
// segment.
spec::RunSpec plainOnly(spec::RunSpec spec) {
    spec::FeaturesSpec plain;
    plain.dense = spec.features.dense;
    for (spec::DenseFeature& dense :
         plain.dense) {  // nulls may tell the label, whatever fills them
        dense.fill = std::numeric_limits<float>::lowest();
    }
    plain.ids = spec.features.ids;
    spec.batch.order = "as_is";
    spec.eval.reset();
    return bareSpec(std::move(spec), std::move(plain));
}

/// Positions of the columns in a chunk.
struct Places {
    std::size_t label = 0, mask = 0;
    std::vector<std::size_t> ids;  ///< by feature
};

void take(const segment::Chunk& chunk, const Places& places, Sample& sample) {
    const auto* labels = reinterpret_cast<const float*>(chunk.columns[places.label].values);
    const auto* masks = reinterpret_cast<const std::uint8_t*>(chunk.columns[places.mask].values);
    for (std::int64_t r = 0; r < chunk.rows; ++r) {
        if (masks[r] == 0) {
            continue;
        }
        sample.labels.push_back(labels[r] > 0.5F);
        for (std::size_t d = 0; d < sample.dense.size(); ++d) {
            sample.dense[d].push_back(chunk.dense[d][r]);
        }
        for (std::size_t i = 0; i < sample.ids.size(); ++i) {
            const auto* ids =
                reinterpret_cast<const std::int64_t*>(chunk.columns[places.ids[i]].values);
            sample.ids[i].push_back(ids[r]);
        }
    }
}

/// P(value of a positive > that of a negative) + P(equal) / 2, over the rows with a value that is a
/// number; 0.5 if a class is missing.
double aucOf(const std::vector<float>& values, const std::vector<bool>& labels) {
    std::vector<std::pair<float, bool>> rows;
    for (std::size_t r = 0; r < values.size(); ++r) {
        if (!std::isnan(values[r])) {  // NaN has no rank
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

/// For each row, the mean label of its id in the rows of the other half: so a row does not reveal
/// its own label.
std::vector<float> meansOf(const std::vector<std::int64_t>& ids, const std::vector<bool>& labels) {
    struct Sum {
        std::array<double, 2> rows{}, positives{};
    };
    std::unordered_map<std::int64_t, Sum> sums;
    double positives = 0;
    const auto halfOf = [](std::size_t row) { return row % 4 < 2 ? 0U : 1U; };
    for (std::size_t r = 0; r < ids.size(); ++r) {
        Sum& sum = sums[ids[r]];
        sum.rows[halfOf(r)] += 1;
        sum.positives[halfOf(r)] += labels[r] ? 1 : 0;
        positives += labels[r] ? 1 : 0;
    }
    const double mean = positives / static_cast<double>(std::max<std::size_t>(1, ids.size()));
    std::vector<float> means;
    for (std::size_t r = 0; r < ids.size(); ++r) {
        const Sum& sum = sums[ids[r]];
        const unsigned other = 1 - halfOf(r);
        means.push_back(static_cast<float>((sum.positives[other] + kPriorRows * mean) /
                                           (sum.rows[other] + kPriorRows)));
    }
    return means;
}

// "alone tells the label 'x' (AUC 0.991): ..."; nothing if the values do not reveal it.
std::optional<std::string> leakOf(const std::vector<float>& values, const std::string& head,
                                  const std::vector<bool>& labels) {
    const double auc = aucOf(values, labels);
    if (auc <= kTellsAll && auc >= 1 - kTellsAll) {
        return std::nullopt;
    }
    char text[16];
    std::snprintf(text, sizeof text, "%.3f", std::max(auc, 1 - auc));
    return strCat("alone tells the label '", head, "' (AUC ", text,
                  "): leave it out if it is known only after the label");
}

Result<Places> placesOf(const segment::StreamInput& input, const std::string& head) {
    const auto find = [&](frame::Role role, const std::string& name) -> Result<std::size_t> {
        const int place = input.layout().find(role, name);
        return place < 0 ? Result<std::size_t>(internalError("no column of ", name))
                         : static_cast<std::size_t>(place);
    };
    Places places;
    ASSIGN_OR_RETURN(places.label, find(frame::Role::kLabel, head));
    ASSIGN_OR_RETURN(places.mask, find(frame::Role::kMask, head));
    for (const std::string& id : input.spec().features.ids) {
        ASSIGN_OR_RETURN(const std::size_t place, find(frame::Role::kId, id));
        places.ids.push_back(place);
    }
    return places;
}

Result<Sample> sampleOf(SplitStream& stream, const std::string& head, const std::stop_token& stop,
                        const LeakLimits& limits) {
    const segment::StreamInput& input = stream.input();
    const auto end = std::chrono::steady_clock::now() + limits.time;
    ASSIGN_OR_RETURN(const Places places, placesOf(input, head));
    Sample sample;
    sample.dense.resize(input.spec().features.dense.size());
    sample.ids.resize(places.ids.size());
    const auto enough = static_cast<std::size_t>(limits.rows);
    for (std::int64_t s = 0; s < input.numSegments() && sample.labels.size() < enough; ++s) {
        if (stop.stop_requested()) {
            return cancelled("stopped");
        }
        const std::int64_t left = limits.rowsRead - sample.rowsRead;
        sample.isCut = left <= 0 || std::chrono::steady_clock::now() >= end;
        if (sample.isCut) {
            break;
        }
        ASSIGN_OR_RETURN(const segment::SegmentOutput output,
                         stream.run(s, stream.firstRowsOf(s, std::min(left, kPieceRows))));
        sample.rowsRead += output.counts.rowsScanned;
        for (const segment::Chunk& chunk : output.chunks) {
            take(chunk, places, sample);
        }
    }
    return sample;
}

}  // namespace

std::string leakRule() {
    char text[16];
    std::snprintf(text, sizeof text, "%.2f", kTellsAll);
    return strCat(
        "leaks: a note names each column that alone orders the rows by their label with "
        "an AUC above ",
        text, "; it covers neither weaker columns nor combinations of columns");
}

Result<LeakReport> findLeaks(const spec::RunSpec& spec, const stream::Plan& plan,
                             const std::stop_token& stop, const LeakLimits& limits) {
    LeakReport look;
    const spec::RunSpec plain = plainOnly(spec);
    const spec::FeaturesSpec& features = plain.features;
    if (features.dense.size() + features.ids.size() == 0 || spec.labels.empty()) {
        return look;
    }
    ASSIGN_OR_RETURN(const auto stream, SplitStream::open(plain, plan));
    const std::string head = plain.heads().front();
    ASSIGN_OR_RETURN(const Sample sample, sampleOf(*stream, head, stop, limits));
    look.rowsRead = sample.rowsRead;
    if (sample.labels.size() < kFewestRows) {
        if (sample.isCut) {
            look.notes.push_back(
                strCat("leaks: not looked for: of the first ", formatCount(sample.rowsRead),
                       " rows, ", formatCount(static_cast<std::int64_t>(sample.labels.size())),
                       " have the label '", head, "'"));
        }
        return look;
    }
    const auto add = [&](const char* kind, const std::string& name,
                         const std::vector<float>& values) {
        if (const auto leak = leakOf(values, head, sample.labels)) {
            look.notes.push_back(strCat("features.", kind, ": ", name, " ", *leak));
            look.remarks[name] = *leak;
        }
    };
    for (std::size_t d = 0; d < features.dense.size(); ++d) {
        add("dense", features.dense[d].column, sample.dense[d]);
    }
    for (std::size_t i = 0; i < features.ids.size(); ++i) {
        const std::vector<float> means = meansOf(sample.ids[i], sample.labels);
        add("ids", features.ids[i], means);
        if (std::set(sample.ids[i].begin(), sample.ids[i].end()).size() >= kManyValues) {
            look.idAuc = std::max(look.idAuc, aucOf(means, sample.labels));
        }
    }
    return look;
}

}  // namespace millrace::loader

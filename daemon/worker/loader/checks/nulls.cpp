#include "daemon/worker/loader/checks/nulls.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "backend/profile/first_spec.h"
#include "backend/profile/spec_split.h"
#include "backend/text/json.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/bare_spec.h"

namespace millrace::loader {
namespace {

constexpr std::int64_t kMostRows = 65'536;
constexpr std::size_t kMostNamed = 5;
/// Fewer null ids than one in this many rows change little.
constexpr std::int64_t kRowsPerNull = 100;

/// A feature, and beside it a dense feature of its own: 1 where the column is null.
struct Probe {
    std::string column;
    bool isDense = false;                ///< else an id with a vocabulary
    std::size_t values = 0, isNull = 0;  ///< positions among the dense features
    std::int64_t rows = 0, nulls = 0;
    double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
    std::int64_t numbers = 0;  ///< that are neither null nor NaN

    bool isFarFromNull() const { return nulls > 0 && numbers > 0 && (least > 0 || most < 0); }
    bool hasManyNulls() const { return nulls * kRowsPerNull > rows; }
};

std::vector<Probe> probesOf(const spec::RunSpec& spec) {
    std::vector<Probe> probes;
    for (const spec::DenseFeature& dense : spec.features.dense) {
        if (dense.fill == 0) {
            probes.push_back({.column = dense.column, .isDense = true});
        }
    }
    for (const auto& [name, embedding] : spec.embeddings) {
        for (const std::string& feature : embedding.features) {
            if (embedding.vocabulary && std::ranges::count(spec.features.ids, feature) > 0) {
                probes.push_back({.column = feature});
            }
        }
    }
    return probes;
}

// The spec with what the probes read alone.
spec::RunSpec probesOnly(const spec::RunSpec& spec, std::vector<Probe>& probes) {
    spec::FeaturesSpec features;
    spec::DeriveStep tests;
    for (Probe& probe : probes) {
        if (probe.isDense) {
            probe.values = features.dense.size();
            features.dense.push_back({probe.column, 0});
        }
        const std::string name = strCat("nulls of ", probe.column);
        tests.columns.push_back({name, strCat(profile::sqlName(probe.column), " is null")});
        probe.isNull = features.dense.size();
        features.dense.push_back({name, 0});
    }
    spec::RunSpec looked = bareSpec(spec, std::move(features));
    looked.recipe.push_back({"nulls", true, std::move(tests)});
    looked.embeddings.clear();
    looked.eval.reset();
    looked.batch.order = "as_is";
    return looked;
}

void look(const segment::Chunk& chunk, Probe& probe) {
    probe.rows += chunk.rows;
    for (std::int64_t r = 0; r < chunk.rows; ++r) {
        if (chunk.dense[probe.isNull][r] != 0) {
            ++probe.nulls;
            continue;
        }
        const double value = probe.isDense ? chunk.dense[probe.values][r] : std::nan("");
        if (!std::isnan(value)) {
            probe.least = std::min(probe.least, value);
            probe.most = std::max(probe.most, value);
            probe.sum += value;
            ++probe.numbers;
        }
    }
}

void addDense(const std::vector<Probe>& probes, std::vector<std::string>& notes) {
    std::vector<const Probe*> found;
    for (const Probe& probe : probes) {
        if (probe.isDense && probe.isFarFromNull()) {
            found.push_back(&probe);
        }
    }
    for (std::size_t i = 0; i < std::min(found.size(), kMostNamed); ++i) {
        const Probe& probe = *found[i];
        const std::string fill = profile::fillText(probe.sum / static_cast<double>(probe.numbers),
                                                   probe.most - probe.least);
        notes.push_back(
            strCat("features.dense: '", probe.column, "' is null in ", formatCount(probe.nulls),
                   " of ", formatCount(probe.rows),
                   " rows looked at, and null counts as 0, outside of its other values (",
                   probe.least, " to ", probe.most, "): `{column: ", yamlScalar(probe.column, true),
                   ", fill: ", fill, "}` gives these rows the mean"));
    }
    if (found.size() > kMostNamed) {
        notes.push_back(strCat("features.dense: nulls of ", found.size() - kMostNamed,
                               " more columns count as 0, outside of their other values"));
    }
}

void addIds(const std::vector<Probe>& probes, const expr::Schema& columns,
            std::vector<std::string>& notes) {
    std::vector<const Probe*> found;
    for (const Probe& probe : probes) {
        if (!probe.isDense && probe.hasManyNulls()) {
            found.push_back(&probe);
        }
    }
    if (found.empty()) {
        return;
    }
    std::string names;
    for (std::size_t i = 0; i < std::min(found.size(), kMostNamed); ++i) {
        const auto percent = std::llround(100.0 * static_cast<double>(found[i]->nulls) /
                                          static_cast<double>(found[i]->rows));
        strAppend(&names, i == 0 ? "" : ", ", "'", found[i]->column, "' (", percent, " %)");
    }
    if (found.size() > kMostNamed) {
        strAppend(&names, " and ", found.size() - kMostNamed, " more columns");
    }
    const std::string& first = found.front()->column;
    const expr::Field* const field = columns.find(first);
    const std::string name = profile::sqlName(first);
    const std::string text =
        field != nullptr && field->type.isString() ? name : strCat("cast(", name, " as varchar)");
    notes.push_back(strCat("features.ids: nulls of ", names,
                           " share row 0 of the vocabulary with values that training never had: "
                           "`derive: {",
                           yamlScalar(first, true), ": ",
                           dumpJson(Json(strCat("coalesce(", text, ", '<null>')"))),
                           "}` gives nulls a row of their own"));
}

}  // namespace

Result<std::vector<std::string>> checkNulls(const spec::RunSpec& spec, const stream::Plan& plan,
                                            const expr::Schema& columns) {
    std::vector<std::string> notes;
    std::vector<Probe> probes = probesOf(spec);
    if (probes.empty()) {
        return notes;
    }
    ASSIGN_OR_RETURN(const auto stream, SplitStream::open(probesOnly(spec, probes), plan));
    std::int64_t rows = 0;
    for (std::int64_t s = 0; s < stream->input().numSegments() && rows < kMostRows; ++s) {
        ASSIGN_OR_RETURN(const segment::SegmentOutput output,
                         stream->run(s, stream->firstRowsOf(s, kMostRows - rows)));
        for (const segment::Chunk& chunk : output.chunks) {
            for (Probe& probe : probes) {
                look(chunk, probe);
            }
        }
        rows += std::max<std::int64_t>(1, output.counts.rowsScanned);
    }
    addDense(probes, notes);
    addIds(probes, columns, notes);
    return notes;
}

}  // namespace millrace::loader

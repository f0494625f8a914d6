#include "daemon/worker/loader/checks/id_collisions.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "backend/profile/spec_split.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/bare_spec.h"

namespace millrace::loader {
namespace {

// More values are hashed on purpose: a row for each would make a large table.
constexpr std::size_t kFewValues = 1000;
// In a table of more rows fewer than a quarter of kFewValues share a row.
constexpr std::int64_t kSmallTable = 2000;
constexpr double kMostSharing = 0.25;
// Rows of a table in which few values do not meet.
constexpr std::int64_t kWideTable = 1'000'000'000'000;
constexpr std::string_view kCopy = "values of ";
constexpr std::int64_t kMostSplits = 64, kMostBytes = 50'000'000;

/// A table, and the same features once more, as copies that are hashed into a wide one.
struct Table {
    std::string name;
    std::int64_t rows = 0;
    std::vector<std::string> features, copies;
    std::set<std::int64_t> ids, values;  ///< without 0, which is null
};

std::vector<Table> smallTables(const spec::RunSpec& spec) {
    std::vector<Table> tables;
    for (const auto& [name, embedding] : spec.embeddings) {
        Table table{name, embedding.rows, {}, {}, {}, {}};
        std::ranges::copy_if(embedding.features, std::back_inserter(table.features),
                             [&spec](const std::string& feature) {
                                 return std::ranges::find(spec.features.ids, feature) !=
                                        spec.features.ids.end();
                             });
        for (const std::string& feature : table.features) {
            table.copies.push_back(strCat(kCopy, feature));
        }
        if (!embedding.vocabulary && embedding.rows <= kSmallTable && !table.features.empty()) {
            tables.push_back(std::move(table));
        }
    }
    return tables;
}

// The spec with the tables' features and their copies alone.
spec::RunSpec idsOnly(const spec::RunSpec& spec, const std::vector<Table>& tables) {
    spec::FeaturesSpec features;
    spec::DeriveStep copies;
    std::map<std::string, spec::EmbeddingSpec> embeddings;
    for (const Table& table : tables) {
        for (std::size_t f = 0; f < table.features.size(); ++f) {
            copies.columns.push_back({table.copies[f], profile::sqlName(table.features[f])});
        }
        features.ids.insert(features.ids.end(), table.features.begin(), table.features.end());
        features.ids.insert(features.ids.end(), table.copies.begin(), table.copies.end());
        embeddings[table.name] = {table.features, table.rows, 1, std::nullopt};
        embeddings[strCat(kCopy, table.name)] = {table.copies, kWideTable, 1, std::nullopt};
    }
    spec::RunSpec looked = bareSpec(spec, std::move(features));
    looked.recipe.push_back({"values", true, std::move(copies)});
    looked.embeddings = std::move(embeddings);
    looked.eval.reset();
    looked.batch.order = "as_is";
    return looked;
}

void addIds(const segment::SegmentOutput& output, const frame::FrameLayout& layout,
            const std::vector<std::string>& features, std::set<std::int64_t>& ids) {
    for (const std::string& feature : features) {
        const auto column = static_cast<std::size_t>(layout.find(frame::Role::kId, feature));
        for (const segment::Chunk& chunk : output.chunks) {
            const auto* const values =
                reinterpret_cast<const std::int64_t*>(chunk.columns[column].values);
            for (std::int64_t r = 0; r < chunk.rows && ids.size() <= kFewValues; ++r) {
                if (values[r] != 0) {
                    ids.insert(values[r]);
                }
            }
        }
    }
}

std::string noteOf(const Table& table) {
    const auto values = static_cast<std::int64_t>(table.values.size());
    const auto used = static_cast<std::int64_t>(table.ids.size());
    const bool isBad =
        table.values.size() <= kFewValues &&
        static_cast<double>(values - used) > kMostSharing * static_cast<double>(values);
    return isBad ? strCat("embeddings.", table.name, ": ", formatCount(values), " values share ",
                          formatCount(used), " of ", formatCount(table.rows),
                          " rows: `vocabulary: auto` gives each its own")
                 : "";
}

}  // namespace

Result<std::vector<std::string>> checkIdCollisions(const spec::RunSpec& spec,
                                                   const stream::Plan& plan) {
    std::vector<std::string> notes;
    std::vector<Table> tables = smallTables(spec);
    if (tables.empty()) {
        return notes;
    }
    ASSIGN_OR_RETURN(const auto stream, SplitStream::open(idsOnly(spec, tables), plan));
    const segment::StreamInput& input = stream->input();
    std::int64_t bytes = 0;
    for (std::int64_t split = 0; split < std::min(input.numSegments(), kMostSplits); ++split) {
        bytes += input.decodedBytes(0, split);
        if (split > 0 && bytes > kMostBytes) {
            break;
        }
        ASSIGN_OR_RETURN(const segment::SegmentOutput output, stream->run(split));
        for (Table& table : tables) {
            addIds(output, input.layout(), table.features, table.ids);
            addIds(output, input.layout(), table.copies, table.values);
        }
    }
    for (const Table& table : tables) {
        std::string note = noteOf(table);
        if (!note.empty()) {
            notes.push_back(std::move(note));
        }
    }
    return notes;
}

}  // namespace millrace::loader

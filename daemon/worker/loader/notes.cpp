#include "daemon/worker/loader/notes.h"

#include <algorithm>

#include "backend/text/text.h"

namespace millrace::loader {
namespace {

/// Adds remarks on how the side tables are read; their errors are reported where they are used.
void noteTables(ResolvedRun& run, const dataset::TablePlace& place) {
    std::vector<spec::TableRef> tables;
    for (const spec::Step& step : run.spec.recipe) {
        const spec::TableLookup* lookup = step.lookup();
        if (step.enabled && lookup != nullptr && !lookup->table.empty()) {
            tables.push_back(lookup->table);
        }
    }
    for (const auto& [name, embedding] : run.spec.embeddings) {
        if (embedding.vocabulary && !embedding.vocabulary->isCounted()) {
            tables.push_back(embedding.vocabulary->table);
        }
    }
    for (const spec::TableRef& table : tables) {
        const auto notes = dataset::tableNotes(table, place);
        if (notes.ok()) {
            run.warnings.insert(run.warnings.end(), notes->begin(), notes->end());
        }
    }
}

// A gzip file can be begun at many places, a zstd file at its start alone.
void noteCompressed(ResolvedRun& run) {
    constexpr std::size_t kSplitsWorthIt = 16;
    const auto found = std::max_element(
        run.plan.files.begin(), run.plan.files.end(), [](const auto& a, const auto& b) {
            const auto splits = [](const stream::PlanFile& file) {
                return file.path.ends_with(".zst") ? file.splits.size() : 0;
            };
            return splits(a) < splits(b);
        });
    const bool isShuffled = run.spec.batch.order != "as_is";
    if (isShuffled && found != run.plan.files.end() && found->path.ends_with(".zst") &&
        found->splits.size() >= kSplitsWorthIt) {
        run.warnings.push_back(strCat(
            "dataset.path: ", found->path, " is decompressed from its start for most of its ",
            found->splits.size(), " splits, as they are read out of order; pack it with gzip, ",
            "split it into files, or read it with batch.order: as_is"));
    }
}

}  // namespace

void addNotes(ResolvedRun& run, const dataset::TablePlace& place) {
    noteTables(run, place);
    noteCompressed(run);
}

}  // namespace millrace::loader

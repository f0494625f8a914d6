#include "daemon/worker/loader/notes.h"

#include <algorithm>

#include "backend/core/memory_budget.h"
#include "backend/segment/segment_runner.h"
#include "backend/segment/stream_input.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/bare_spec.h"

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

bool hasNoRows(const dataset::Dataset& dataset) {
    for (std::size_t i = 0; i < dataset.files().size(); ++i) {
        const auto facts = dataset.facts(i);
        if (!facts.ok() || (*facts)->rows > 0) {
            return false;
        }
    }
    return true;
}

}  // namespace

void noteFiles(const std::shared_ptr<const dataset::Dataset>& dataset,
               std::vector<std::string>& notes) {
    for (const std::string& note : dataset ? dataset->notes() : std::vector<std::string>()) {
        if (std::ranges::find(notes, note) == notes.end()) {
            notes.push_back(note);
        }
    }
}

void addBindErrors(const spec::SpecErrors& found, const dataset::Dataset& dataset,
                   const spec::RunSpec& spec, spec::SpecErrors& errors) {
    if (hasNoRows(dataset)) {
        errors.push_back(errorOf(invalidArgument("dataset.path: the dataset has no rows"),
                                 "dataset.path", "file", &spec));
    }
    errors.insert(errors.end(), found.begin(), found.end());
}

void addNotes(ResolvedRun& run, const dataset::TablePlace& place) {
    noteTables(run, place);
    noteCompressed(run);
}

}  // namespace millrace::loader

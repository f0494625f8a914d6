#include "daemon/worker/loader/notes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backend/core/memory_budget.h"
#include "backend/segment/segment_runner.h"
#include "backend/segment/stream_input.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/bare_spec.h"
#include "daemon/worker/loader/spec_error.h"

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

// The training stream of the rows that evaluation reads too, without its labels and features.
spec::RunSpec rowsOfBoth(const spec::RunSpec& spec) {
    spec::RunSpec both = bareSpec(spec, {});
    const std::string &train = spec.dataset.where, &eval = spec.eval->dataset.where;
    both.dataset.where = train.empty()  ? eval
                         : eval.empty() ? train
                                        : strCat("(", train, ") and (", eval, ")");
    both.embeddings.clear();
    both.eval.reset();
    both.batch.order = "as_is";
    return both;
}

struct SharedRows {
    std::int64_t looked = 0, shared = 0;
};

// Looks at splits until one has such rows. Statistics of the files rule out most splits of
// conditions that exclude each other, such as days.
Result<SharedRows> findSharedRows(const ResolvedRun& run) {
    constexpr std::int64_t kMostSplits = 64, kMostBytes = 50'000'000;
    MemoryBudget noTables(0);
    stream::Plan single = run.plan;
    single.segmentSplits = 1;
    ASSIGN_OR_RETURN(const auto input,
                     segment::StreamInput::open(rowsOfBoth(run.spec), std::move(single),
                                                recipe::Part::kTrain, noTables));
    segment::BufferPool pool(run.spec.resources.memoryLimitMb * 1'000'000);
    segment::StageCounters counters;
    segment::SegmentRunner runner(input, pool, counters);
    SharedRows rows;
    std::int64_t bytes = 0;
    for (std::int64_t split = 0;
         split < std::min(input->numSegments(), kMostSplits) && rows.shared == 0; ++split) {
        bytes += input->decodedBytes(0, split);
        if (split > 0 && bytes > kMostBytes) {
            break;
        }
        ASSIGN_OR_RETURN(const segment::SegmentOutput output, runner.run(0, split));
        rows.looked += output.counts.rowsScanned;
        rows.shared += output.rowsKept();
    }
    return rows;
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

// Side tables are not read for this: loading them may take longer than a submit should.
void noteTrainedEvaluation(ResolvedRun& run) {
    const bool hasTables = std::ranges::any_of(run.spec.recipe, [](const spec::Step& step) {
        return step.enabled && step.lookup() != nullptr;
    });
    if (hasTables || !run.spec.eval || run.spec.eval->dataset.path != run.spec.dataset.path) {
        return;
    }
    const Result<SharedRows> rows = findSharedRows(run);
    if (rows.ok() && rows->shared > 0) {
        run.warnings.push_back(strCat(
            "eval.dataset: ", formatCount(rows->shared), " of the ", formatCount(rows->looked),
            " rows looked at are evaluated and also trained on, so figures of the evaluation do "
            "not hold for new rows; let `dataset.where` and `eval.dataset.where` exclude each "
            "other"));
    }
}

void noteFiles(const std::shared_ptr<const dataset::Dataset>& dataset,
               std::vector<std::string>& notes) {
    for (const std::string& note : dataset ? dataset->notes() : std::vector<std::string>()) {
        if (std::ranges::find(notes, note) == notes.end()) {
            notes.push_back(note);
        }
    }
}

void addBindErrors(const spec::SpecErrors& found, const dataset::Dataset& train,
                   const dataset::Dataset* eval, const spec::RunSpec& spec,
                   spec::SpecErrors& errors) {
    const std::size_t before = errors.size();
    for (const auto& [dataset, key] :
         {std::pair(&train, "dataset.path"), std::pair(eval, "eval.dataset.path")}) {
        if (dataset != nullptr && hasNoRows(*dataset)) {
            errors.push_back(
                errorOf(invalidArgument(key, ": the dataset has no rows"), key, "file", &spec));
        }
    }
    // Without rows the columns of a CSV have no types.
    const bool hasTypes = errors.size() == before;
    std::ranges::copy_if(found, std::back_inserter(errors), [&](const spec::SpecError& error) {
        return hasTypes || (error.code != "type" && error.code != "expression");
    });
}

void addNotes(ResolvedRun& run, const dataset::TablePlace& place) {
    noteTables(run, place);
    noteCompressed(run);
}

}  // namespace millrace::loader

#pragma once
// Resolves a spec's text into runs that can start: read, vary, bind to the dataset's columns, plan,
// hash. Used by all roles that take a spec.
//
// Threads: one owner. Failure: errors as values with their places in the text; no user input can
// end the process.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/dataset/dataset.h"
#include "backend/job/command.h"
#include "backend/spec/bind.h"
#include "backend/spec/run_spec.h"
#include "backend/spec/spec_reader.h"
#include "backend/stream/plan.h"
#include "daemon/worker/loader/pinned_files.h"

namespace millrace::loader {

struct ResolveRequest {
    std::string text;
    std::string fileName = "spec";
    std::string baseDir;                  ///< absolute
    std::vector<std::string> variations;  ///< names; "" is the base. Empty: the base alone
    bool isAll = false;                   ///< the base and every variation
    /// Also checks what only training needs: what the trainer supports, memory, rows and labels of
    /// both sets.
    bool isForTraining = false;
    bool trainsHere = true;  ///< false: on other machines, which are unknown here
    /// The rows of eval.dataset without their labels, as spec::evaluationRows().
    bool isForScoring = false;
    /// Counts values of vocabularies that are not in the cache; otherwise they stay pending.
    bool mayCount = false;
    /// false, for rows in their own form: features and labels may be missing, counted vocabularies
    /// stay pending, and nothing is looked up.
    bool needsIds = true;
    /// The job.json of a run whose counted values are taken for rows that are scored; "": none.
    std::string valuesOf;
    std::optional<PinnedFiles> pinned;  ///< the dataset's other files are not read
    bool wantsColumns = false;          ///< opens the dataset also beside errors
    std::vector<std::string> sets;
    /// The place where the spec is submitted, if known: its command is then searched there.
    std::optional<job::CommandPlace> place;
};

struct ResolvedRun {
    std::string variation;
    spec::RunSpec spec;
    stream::Plan plan;
    std::string specHash, streamHash, planHash;
    std::string filesVersion;  ///< dataset::Dataset::version() of the training files
    expr::Schema columns;      ///< at the end of the recipe
    std::vector<std::string> warnings;
    std::vector<std::string> countedValues;     ///< a note for each vocabulary that is counted
    std::int64_t badRows = 0, evalBadRows = 0;  ///< left out of the files (csv.on_bad_row: drop)
};

struct ResolveReply {
    std::vector<ResolvedRun> runs;  ///< empty exactly when there are errors
    spec::SpecErrors errors;
    std::vector<std::string>
        fileNotes;  ///< on how the files are read, each once; also beside errors
    /// The base's dataset if it could be opened, with `wantsColumns` even if there are errors.
    std::shared_ptr<const dataset::Dataset> dataset;
    expr::Schema columns;  ///< after the valid steps of the base's recipe; empty: unknown
};

ResolveReply resolveSpec(const ResolveRequest& request);

/// Fills in the hashes of its spec and plan.
void hashRun(ResolvedRun& run);

/// The file of a spec, and which of its runs: the base ("") or a variation.
struct SpecChoice {
    std::string specPath, variation;
    std::vector<std::string> sets;
    bool isForScoring = false;  ///< as ResolveRequest
    std::string pinnedPath;     ///< the dataset's files as readPinned() reads them; "": all
    bool needsIds = true;       ///< as ResolveRequest
    std::string valuesOf;       ///< as ResolveRequest
};

Result<ResolvedRun> resolveFile(const SpecChoice& choice);

/// The cache of footers' facts, shared between processes.
std::shared_ptr<dataset::MetadataCache> factsCache();

}  // namespace millrace::loader

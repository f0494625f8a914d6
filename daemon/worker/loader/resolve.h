#pragma once
// From a spec's text to runs that can start: read, vary, bind to the dataset's columns, plan, hash.
//
// Threads: one owner. Failure: errors as values with their places in the text; no user input ends
// the process.
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
    /// What only training needs: what the trainer can do, memory, rows and labels of both sets.
    bool isForTraining = false;
    bool trainsHere = true;  ///< false: on other machines, of which nothing is known here
    /// The rows of eval.dataset without their labels, as spec::evaluationRows().
    bool isForScoring = false;
    /// Values of counted vocabularies are counted where the cache has none; else they stay pending.
    bool mayCount = false;
    std::optional<PinnedFiles> pinned;  ///< the dataset's other files are not read
    bool wantsColumns = false;          ///< opens the dataset also beside errors
    std::vector<std::string> sets;
    /// Where the spec is submitted from, as far as it is known: then its command is looked for.
    std::optional<job::CommandPlace> place;
};

struct ResolvedRun {
    std::string variation;
    spec::RunSpec spec;
    stream::Plan plan;
    std::string specHash, streamHash, planHash;
    std::string filesVersion;  ///< dataset::Dataset::version() of the training files
    std::vector<std::string> warnings;
    std::vector<std::string> countedValues;     ///< a note for each vocabulary that is counted
    std::int64_t badRows = 0, evalBadRows = 0;  ///< left out of the files (csv.on_bad_row: drop)
};

struct ResolveReply {
    std::vector<ResolvedRun> runs;  ///< empty exactly when there are errors
    spec::SpecErrors errors;
    /// The base's dataset, where it could be opened: also beside errors with `wantsColumns`.
    std::shared_ptr<const dataset::Dataset> dataset;
    expr::Schema columns;  ///< after the base's recipe, as far as its steps fit; empty: not known
};

/// A status as an error of a spec, with the place of `path` where `spec` has one.
spec::SpecError errorOf(const Status& status, std::string path, std::string code,
                        const spec::RunSpec* spec);

ResolveReply resolveSpec(const ResolveRequest& request);

/// Fills in the hashes of its spec and plan.
void hashRun(ResolvedRun& run);

/// A spec's file and which run of it: the base ("") or a variation.
struct SpecChoice {
    std::string specPath, variation;
    std::vector<std::string> sets;
    bool isForScoring = false;  ///< as ResolveRequest
    std::string pinnedPath;     ///< the dataset's files as readPinned() reads them; "": all
};

Result<ResolvedRun> resolveFile(const SpecChoice& choice);

/// Where footers' facts are cached between processes.
std::shared_ptr<dataset::FactsCache> factsCache();

}  // namespace millrace::loader

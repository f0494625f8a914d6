#pragma once
// Counts the values of embeddings with a counted vocabulary (`vocabulary: auto`), over the training
// rows of the first epoch after the recipe.
//
// The counted values go into the plan, and their hash and number of rows into the spec. They are
// cached under a hash of everything that determines them: the part of the spec that shapes these
// rows and features, the plan, and the files' versions. So runs that differ in other things share
// them. Threads: one owner; the pass has its own, joined before a call returns. Failure: the errors
// of reading the rows; kInvalidArgument if memory or a plan cannot hold the values; kCancelled
// after SIGINT or SIGTERM. If the cache is damaged or cannot be written, the rows are read again.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

struct CountingOptions {
    std::string filesVersion;  ///< dataset::Dataset::version() of the training files
    std::string directory;     ///< of the cache; "": nothing is kept
    bool mayCount = true;      ///< false: only what is in the cache
    /// The cache's files are removed beyond it, the least recently used first (file_cache.h).
    std::int64_t cacheBytesMost = std::int64_t{1} << 30;
    /// Called several times a second while rows are counted, by one thread; may be empty.
    std::function<void(std::int64_t rows, std::int64_t allRows, double seconds)> progress;
};

/// The cache's subdirectory for counted values.
inline constexpr std::string_view kCountedValues = "vocabularies";

/// Returns whether values are still to be counted.
bool isPending(const spec::RunSpec& spec);

/// Takes over the values that `from` has in `fromPlan`, for pending embeddings of the same name and
/// features.
void takeCounted(const spec::RunSpec& from, const stream::Plan& fromPlan, spec::RunSpec& spec,
                 stream::Plan& plan);

/// kFailedPrecondition where an embedding of `spec` has other values than the same one of a `run`.
Status checkSameValues(const spec::RunSpec& run, const spec::RunSpec& spec);

/// Fills in what is pending in the bound `spec`, and `plan`. `notes`: one for each embedding.
Status countValues(spec::RunSpec& spec, stream::Plan& plan, const CountingOptions& options,
                   std::vector<std::string>& notes);

}  // namespace millrace::loader

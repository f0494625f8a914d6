#pragma once
// Counts the values of embeddings whose vocabulary is to be counted (`vocabulary: auto`), over the
// training rows of the first epoch as the recipe leaves them.
//
// The counted values go into the plan, and its hash and number of rows into the spec. It is kept in
// the cache directory under a hash of all that decides it: the part of the spec that shapes these
// rows and features, the plan, and the files' versions. So runs that differ in other things share
// it. Threads: one owner; the pass has its own, joined before a call returns. Failure: what reading
// the rows can say; kInvalidArgument when memory or a plan does not hold the values; kCancelled
// after SIGINT or SIGTERM. A cache that is damaged or cannot be written costs the pass.
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

/// The cache directory's part for counted values.
inline constexpr std::string_view kCountedValues = "vocabularies";

/// Whether values are still to be counted.
bool isPending(const spec::RunSpec& spec);

/// Fills in what is pending in the bound `spec`, and `plan`. `notes`: one for each embedding.
Status countValues(spec::RunSpec& spec, stream::Plan& plan, const CountingOptions& options,
                   std::vector<std::string>& notes);

}  // namespace millrace::loader

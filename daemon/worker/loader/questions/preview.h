#pragma once
// `millrace-loader preview SPEC` and the op `preview` of `millrace-loader inspect`: what a
// variation would yield and cost, from footers and some splits that are run through the whole
// recipe (estimate.h has the confidence).
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/text/json.h"
#include "daemon/worker/loader/resolve.h"

namespace millrace::loader {

struct PreviewOptions {
    std::string specPath;
    std::string variation;
    std::vector<std::string> sets;
    double rowsPerSecond = 0;  ///< that the ranks take together; 0: not asked
    double seconds = 3;        ///< for samples, once kSplitsLeast have been read
    std::int64_t threads = 0;  ///< of the loader, for the epoch's time; 0: the spec's, else cores
};

/// Splits that are read, however long they take.
inline constexpr std::int64_t kPreviewSplitsLeast = 4;

/// Returns the role's document for a resolved run; `specPath`, `variation` and `sets` of the
/// options are not used.
Result<Json> previewOf(ResolvedRun run, const PreviewOptions& options);

/// The role: prints one JSON document. Returns the process's exit code.
int runPreview(const PreviewOptions& options);

}  // namespace millrace::loader

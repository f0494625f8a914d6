#pragma once
// The files that a stream reads, so that a state saved from it can be taken up after the dataset
// has got more. A script's state carries them; a feed without a daemon reads and writes them
// (--pinned), where a daemon's feed has the whole plan.
//
// Threads: a value. Failure: kFailedPrecondition names the file that is gone.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

struct PinnedFiles {
    std::vector<std::string> files, evalFiles;  ///< paths as PlanFile::relativePath
    std::int64_t segmentSplits = 0;             ///< as Plan's

    static PinnedFiles of(const stream::Plan& plan);
    /// JSON, from a file that has `text`.
    static Result<PinnedFiles> parse(std::string_view text);
    std::string toText() const;
    /// Takes all other files out of a plan of the dataset as it is now.
    Status pin(stream::Plan& plan) const;
};

/// The files that `path` pins; nothing where it is empty.
Result<std::optional<PinnedFiles>> readPinned(const std::string& path);
/// Overwrites it.
Status writePinned(const std::string& path, const stream::Plan& plan);

}  // namespace millrace::loader

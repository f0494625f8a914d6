#pragma once
// PinnedFiles: the files that a stream reads, so that a state saved from it can be resumed after
// the dataset has grown. A script's state contains them; a feed without a daemon reads and writes
// them (--pinned), while a daemon's feed has the whole plan.
//
// Threads: a value. Failure: kFailedPrecondition names the file that no longer exists.
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
    /// Parses JSON that contains `text`.
    static Result<PinnedFiles> parse(std::string_view text);
    std::string toText() const;
    /// Removes all other files from a plan of the current dataset.
    Status pin(stream::Plan& plan) const;
};

/// Reads the pinned files from `path`; nothing if it is empty.
Result<std::optional<PinnedFiles>> readPinned(const std::string& path);
/// Overwrites it.
Status writePinned(const std::string& path, const stream::Plan& plan);

}  // namespace millrace::loader

#pragma once
// PinnedFiles: the files that a stream reads, so that a state saved from it can be resumed after
// the dataset has grown. A script's state contains them; a feed without a daemon reads and writes
// them (--pinned), while a daemon's feed has the whole plan.
//
// Threads: a value. Failure: kInvalidArgument for a text that is none.
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
};

/// Their relative paths.
std::vector<std::string> pathsOf(const std::vector<stream::PlanFile>& files);
/// The files that `path` pins; nothing where it is empty.
Result<std::optional<PinnedFiles>> readPinned(const std::string& path);
/// Overwrites it.
Status writePinned(const std::string& path, const stream::Plan& plan);

}  // namespace millrace::loader
